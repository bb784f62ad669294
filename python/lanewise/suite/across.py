# SPDX-License-Identifier: BSD-3-Clause
"""Transports across the hosts of a testbed: launchers run on its first host and spread the ranks.

The testbed is created once for the whole suite.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanewise.launch.machine import core_count
from lanewise.suite.start import Location
from lanewise.testbed import bed, launchers, running, shipped


@contextlib.contextmanager
def created_location(description: str, ranks: int) -> Iterator[Location]:
    """Raise a testbed and give its hosts as a location; nothing of it is left afterwards."""
    with bed.created(shipped.find(description)) as created:
        plan = created.plan()
        hosts = launchers.chosen_hosts(plan, ())
        folder = Path(tempfile.mkdtemp(prefix="suite-", dir=created.folder))
        running.write_files(folder, created.info.name, launchers.spread(hosts, ranks))
        variables = launchers.environment(
            plan, created.folder / "agent", folder, ranks=ranks, cores=core_count()
        )

        def enter(line: Sequence[str]) -> list[str]:
            return list(created.line(hosts[0].name, line))

        try:
            interfaces = tuple(launchers.shared_interfaces(plan))
            variables = {**variables, running.MARK: str(folder)}
            yield Location(enter, variables, across_hosts=True, interfaces=interfaces)
        finally:
            running.kill_marked(folder)
            shutil.rmtree(folder, ignore_errors=True)
