# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics across the hosts of a testbed: the launchers run on its first host and spread the ranks.

The testbed is raised once for the whole suite.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanewise.launch.machine import core_count
from lanewise.suite.start import Site
from lanewise.testbed import bed, launchers, running, shipped


@contextlib.contextmanager
def raised_site(description: str, ranks: int) -> Iterator[Site]:
    """Raise a testbed and give the site that its hosts are; nothing of it is left afterwards."""
    with bed.raised(shipped.find(description)) as raised:
        plan = raised.plan()
        hosts = launchers.chosen_hosts(plan, ())
        folder = Path(tempfile.mkdtemp(prefix="suite-", dir=raised.folder))
        running.write_files(folder, raised.info.name, launchers.company(hosts, ranks))
        variables = launchers.environment(
            plan, raised.folder / "agent", folder, ranks=ranks, cores=core_count()
        )

        def enter(line: Sequence[str]) -> list[str]:
            return list(raised.line(hosts[0].name, line))

        try:
            interfaces = tuple(launchers.shared_interfaces(plan))
            variables = {**variables, running.MARK: str(folder)}
            yield Site(enter, variables, across_hosts=True, interfaces=interfaces)
        finally:
            running.kill_marked(folder)
            shutil.rmtree(folder, ignore_errors=True)
