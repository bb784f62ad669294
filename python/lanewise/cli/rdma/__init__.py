# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma`: verbs programs on the software RDMA device, and on paths that may fail."""

from __future__ import annotations

import typer

from lanewise.cli.example import ExampleTyper
from lanewise.cli.rdma import discover, protect, run, status, sweep


def register(app: typer.Typer) -> None:
    """Add the group `rdma` to `app`."""
    group = ExampleTyper(name="rdma")

    @group.callback()
    def rdma() -> None:
        """$ lanewise rdma run --ports eth0,eth1 -- ib_send_lat -d lanewise0

        Run verbs programs without hardware; fault-test and protect them.
        """

    for part in (run, sweep, status, protect, discover):
        part.register(group)
    app.add_typer(group, name="rdma")
