# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts for one test: programs run on them with faults, and nothing of it outlives the test."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from lanewise.errors import RequestError
from lanewise.hca.device import DEVICES_MAX, PORTS_MAX
from lanewise.rdma.hosts import Hosts
from lanewise.rdma.program import Outcome, Program, start

LIMIT_S = 60.0


class Lab:
    """The hosts of a testbed in the hands of one test."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self._plan = hosts.bed.plan()
        self._programs: list[Program] = []
        self._cut: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the hosts."""
        return self.hosts.names

    def ports(self, host: str) -> tuple[str, ...]:
        """Return the interfaces that a device on this host has as its ports, at most two."""
        return self.devices(host)[:PORTS_MAX]

    def devices(self, host: str) -> tuple[str, ...]:
        """Return the interfaces of as many devices of one port each, at most eight.

        `start` and `run` take them as `devices=`; the first is the interface of lanewise0.
        """
        reserved = {self._plan.launcher_device} if self._plan.managed else set()
        found = [device for device in self._addresses(host) if device not in reserved]
        return tuple(found[:DEVICES_MAX])

    def address(self, host: str, port: int = 1) -> str:
        """Return the IP address of a port of a host, whose ports count from 1.

        With `devices` the port of lanewise0 is 1, that of lanewise1 is 2, and so on.  Raises
        RequestError for a host or a port that there is not.
        """
        names = self.devices(host)
        if not 1 <= port <= len(names):
            raise RequestError(f"{host} has no port {port}; it has {len(names)}, from 1")
        return self._addresses(host)[names[port - 1]]

    def start(self, host: str, program: Sequence[str], **options: Any) -> Program:
        """Start a program on the device of a host; the end of the test ends it.

        `options` are those of `lanewise.rdma.start`, such as `faults`, `seed` and `replay`; `ports`
        are all of the host unless they or `devices` are given.  It raises what
        `lanewise.rdma.start` raises.
        """
        if not options.get("devices"):
            options.setdefault("ports", self.ports(host))
        started = start(program, hosts=self.hosts, at=host, **options)
        self._programs.append(started)
        return started

    def run(
        self, host: str, program: Sequence[str], *, timeout_s: float = LIMIT_S, **options: Any
    ) -> Outcome:
        """Run a program on the device of a host to its end; RunError after `timeout_s` seconds."""
        return self.start(host, program, **options).wait(timeout_s)

    def cut(self, interface: str) -> None:
        """Pull the cable of an interface such as "a1.lan0"; the end of the test mends it."""
        self.hosts.cut(interface)
        self._cut.add(interface)

    def mend(self, interface: str) -> None:
        """Plug the cable of an interface in again."""
        self.hosts.mend(interface)
        self._cut.discard(interface)

    def status(self, host: str) -> list[dict[str, Any]]:
        """Return the devices of the programs on a host, with their counters."""
        return self.hosts.status(host)

    def close(self) -> None:
        """End the programs that still run and mend the cables that are cut."""
        with contextlib.ExitStack() as later:
            for interface in sorted(self._cut):
                later.callback(self.mend, interface)
            for program in self._programs:
                later.callback(program.stop)

    def _addresses(self, host: str) -> dict[str, str]:
        if host not in self.names:
            known = ", ".join(self.names)
            raise RequestError(f"there is no '{host}' in the testbed; there are {known}")
        return {
            one.end.device: one.address.partition("/")[0]
            for one in self._plan.addresses if one.end.namespace == host
        }  # fmt: skip
