# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma status`: the software RDMA devices of the programs that run here."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from lanewise.launch import hca_status

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    """Add the command `status` to `app`."""
    app.command("status")(status)


def status(as_json: AsJson = False) -> None:
    """$ lanewise rdma status --json

    Show the software devices of running programs.
    """
    found = hca_status.ask()
    shown = json.dumps({"devices": found}) + "\n" if as_json else hca_status.text(found)
    sys.stdout.write(shown)
