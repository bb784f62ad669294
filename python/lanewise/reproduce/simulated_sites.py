# SPDX-License-Identifier: BSD-3-Clause
"""Simulated sites: two sites of many hosts and a link between them, as a SimGrid platform.

TCP of 2008 carries at most a window a round trip.  SimGrid bounds each message so
(network/TCP-gamma), but messages between two hosts share one connection: each pair of hosts at two
sites that exchanges messages here has a link of its own at that rate.  A host has one interface for
its own site and the other, as in the paper.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lanewise.launch.job import Cluster

# What of a gigabit Ethernet's rate TCP hands on: 1448 of 1538 bytes.
PAYLOAD_SHARE = 1448 / 1538


@dataclass(frozen=True)
class SimulatedSites:
    """Two sites of `hosts` hosts each, rank r on host r, the first site first."""

    hosts: int
    delay_s: float
    window_bytes: float
    rate_bits_per_s: float = 1e9
    lan_latency_s: float = 50e-6

    @property
    def ranks(self) -> int:
        """Return the number of hosts at both sites."""
        return 2 * self.hosts

    @property
    def rate_Bps(self) -> float:  # noqa: N802 - the unit is bytes a second
        """Return what an interface carries, and the link between the sites."""
        return PAYLOAD_SHARE * self.rate_bits_per_s / 8

    @property
    def connection_Bps(self) -> float:  # noqa: N802 - the unit is bytes a second
        """Return what one connection between the sites carries: a window a round trip."""
        return self.window_bytes / (2 * (self.delay_s + self.lan_latency_s))

    def simulated(self, folder: Path) -> Cluster:
        """Return the cluster as the smpi fabric takes it; the placement is written to `folder`."""
        placement = folder / f"sites-of-{self.hosts}.placement.json"
        placement.write_text(json.dumps(self.placement()), encoding="utf-8")
        return Cluster(
            platform="".join(self._lines()),
            configuration=(
                "--cfg=network/model:CM02",
                "--cfg=network/latency-factor:1",
                "--cfg=network/bandwidth-factor:1",
                "--cfg=network/crosstraffic:0",
                f"--cfg=network/TCP-gamma:{self.window_bytes:.0f}",
                "--cfg=smpi/coll-selector:ompi",
                "--cfg=smpi/wtime:0",
            ),
            variables={"LANEWISE_PLACEMENT": str(placement)},
        )

    def placement(self) -> dict[str, object]:
        """Return the site of each host and rank, as LANEWISE_PLACEMENT has it."""
        places = [(f"host{rank}", "ab"[rank >= self.hosts]) for rank in range(self.ranks)]
        return {
            "schema": "lanewise-placement",
            "version": 1,
            "hosts": [{"host": host, "site": site} for host, site in places],
            "ranks": [
                {"rank": rank, "host": host, "site": site}
                for rank, (host, site) in enumerate(places)
            ],
        }

    def connections(self) -> set[tuple[int, int]]:
        """Return the pairs that meet: of either first host with all, and of hosts alike."""
        there = range(self.hosts, self.ranks)
        alike = {(rank - self.hosts, rank) for rank in there}
        of_first = {(0, rank) for rank in there} | {
            (rank, self.hosts) for rank in range(self.hosts)
        }
        return alike | of_first

    def _lines(self) -> Iterator[str]:
        half_s = self.lan_latency_s / 2
        yield "<?xml version='1.0'?>\n"
        yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        yield '<platform version="4.1">\n<zone id="sites" routing="Full">\n'
        for rank in range(self.ranks):
            yield f'<host id="host{rank}" speed="1e9f"/>\n'
        for rank in range(self.ranks):
            yield _link(f"nic{rank}", self.rate_Bps, half_s)
        yield _link("wan", self.rate_Bps, self.delay_s)
        connections = self.connections()
        for low, high in sorted(connections):
            yield _link(f"tcp{low}-{high}", self.connection_Bps, 0.0)
        for high in range(self.ranks):
            for low in range(high):
                yield f'<route src="host{low}" dst="host{high}">{_way("nic", low, "UP")}'
                if low < self.hosts <= high:
                    if (low, high) in connections:
                        yield f'<link_ctn id="tcp{low}-{high}" direction="UP"/>'
                    yield '<link_ctn id="wan" direction="UP"/>'
                yield f"{_way('nic', high, 'DOWN')}</route>\n"
        yield "</zone>\n</platform>\n"


def _link(name: str, rate_Bps: float, latency_s: float) -> str:  # noqa: N803 - bytes a second
    rate = f'bandwidth="{rate_Bps:.9g}Bps" latency="{latency_s:.9g}s"'
    return f'<link id="{name}" {rate} sharing_policy="SPLITDUPLEX"/>\n'


def _way(kind: str, rank: int, direction: str) -> str:
    return f'<link_ctn id="{kind}{rank}" direction="{direction}"/>'
