# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a testbed, on which programs run and whose cables can be pulled."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.testbed import bed, shipped
from lanewise.testbed.bed import Bed

ASK = "import json; from lanewise.hca.status import ask; print(json.dumps(ask()))"


@dataclass(frozen=True)
class Hosts:
    """The hosts of a testbed that is up, by name; `bed` is the testbed."""

    bed: Bed

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the hosts."""
        return tuple(host.name for host in self.bed.plan().hosts)

    def cut(self, interface: str) -> None:
        """Pull the cable of an interface such as "a1.lan0"; RequestError where there is none."""
        self.bed.switch(*self._named(interface), up=False)

    def mend(self, interface: str) -> None:
        """Plug the cable of an interface in again; RequestError where there is no such one."""
        self.bed.switch(*self._named(interface), up=True)

    def status(self, host: str) -> list[dict[str, Any]]:
        """Return the software devices of the programs on a host, as `lanewise rdma status` does.

        Counters of each port and of each queue pair are among it.  Raises RunError where the host
        does not answer.
        """
        # The devices answer only to who is on their host.
        return list(json.loads(self._answer(host, [sys.executable, "-c", ASK])))

    def interfaces(self, host: str) -> list[str]:
        """Return the names of the interfaces of a host; RequestError where there is no such one."""
        if host not in self.names:
            known = ", ".join(self.names)
            raise RequestError(f"there is no '{host}' in the testbed; there are {known}")
        # Below two lines of headings, each has its name before a colon.
        table = self._answer(host, ["cat", "/proc/net/dev"]).splitlines()[2:]
        return [row.partition(":")[0].strip() for row in table]

    def _answer(self, host: str, words: Sequence[str]) -> str:
        """Return what a command printed on a host; RunError where it failed."""
        line = self.bed.line(host, words)
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            raise RunError(f"{host} does not answer: {said[-1]}")
        return done.stdout

    def _named(self, interface: str) -> tuple[str, str]:
        host, separator, name = interface.partition(".")
        if not separator or host not in self.names:
            known = ", ".join(self.names)
            raise RequestError(f"interface '{interface}': name a host and its interface, such as "
                               f"{self.names[0]}.lan0; hosts are {known}")  # fmt: skip
        return host, name


@contextlib.contextmanager
def testbed(name: str | Path = "two-port") -> Iterator[Hosts]:
    """Create a testbed for the time of a `with`: a shipped one by name, or a description's file.

    It needs root, or user namespaces.  Raises RequestError or RunError where it cannot be.
    """
    with bed.created(shipped.find(str(name))) as created:
        yield Hosts(created)
