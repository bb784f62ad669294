# SPDX-License-Identifier: BSD-3-Clause
"""Simulated sites: two sites of many hosts and a link between them, as a SimGrid platform.

TCP of 2008 transfers at most one window per round trip.  SimGrid bounds each message accordingly
(network/TCP-gamma), but messages between two hosts share one connection: each pair of hosts at
different sites that exchanges messages has a link of its own with that rate here.  Where there are
many hosts, each with one connection to the other site, each host has that link instead of each
pair.  A host has one interface for its own site and the other, as in the paper.

SimGrid knows no packets that are lost: a loss is the rate that TCP attains with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lanewise.launch.job import Cluster

# SMPI numbers each new communicator by a broadcast; the default selector first finds out which
# ranks share a host, by a ring of all ranks, which takes most of the run with a thousand ranks.
_COLLECTIVES = {"pair": (), "host": ("--cfg=smpi/bcast:binomial_tree",)}
_ROUTING = {"pair": "Full", "host": "DijkstraCache"}
# The share of the rate of gigabit Ethernet that is TCP payload: 1448 of 1538 bytes.
SEGMENT_BYTES = 1448
PAYLOAD_SHARE = SEGMENT_BYTES / 1538


@dataclass(frozen=True)
class SimulatedSites:
    """Two sites of `hosts` hosts each, rank r on host r, the first site first."""

    hosts: int
    delay_s: float
    window_bytes: float
    rate_bits_per_s: float = 1e9
    lan_latency_s: float = 50e-6
    windows: Literal["pair", "host"] = "pair"
    wan_bits_per_s: float = 0.0
    """Of the link between the sites; 0: that of an interface."""
    loss: float = 0.0
    """The share of the packets between the sites that are lost."""

    @property
    def ranks(self) -> int:
        """Return the number of hosts at both sites."""
        return 2 * self.hosts

    @property
    def rate_Bps(self) -> float:  # noqa: N802 - the unit is bytes a second
        """Return what an interface carries."""
        return PAYLOAD_SHARE * self.rate_bits_per_s / 8

    @property
    def wan_Bps(self) -> float:  # noqa: N802 - the unit is bytes a second
        """Return what the link between the sites carries."""
        return PAYLOAD_SHARE * (self.wan_bits_per_s or self.rate_bits_per_s) / 8

    @property
    def connection_Bps(self) -> float:  # noqa: N802 - the unit is bytes a second
        """Return the rate of one connection between the sites: one window per round trip.

        With losses it is at most that of Mathis, Semke, Mahdavi and Ott (CCR 27(3), 1997).
        """
        round_trip_s = 2 * (self.delay_s + self.lan_latency_s)
        window_bytes = self.window_bytes
        if self.loss > 0:
            window_bytes = min(window_bytes, SEGMENT_BYTES * math.sqrt(1.5 / self.loss))
        return window_bytes / round_trip_s

    def site(self, rank: int) -> str:
        """Return the site of a rank."""
        return "a" if rank < self.hosts else "b"

    def simulated(self, folder: Path) -> Cluster:
        """Return the cluster for the smpi launcher; the placement is written to `folder`."""
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
                *_COLLECTIVES[self.windows],
            ),
            variables={"LANEWISE_PLACEMENT": str(placement)},
        )

    def placement(self) -> dict[str, object]:
        """Return the site of each host and rank, in the form of a placement file."""
        places = [(f"host{rank}", self.site(rank)) for rank in range(self.ranks)]
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
        """Return the pairs that communicate: either first host with all, and equal host numbers."""
        there = range(self.hosts, self.ranks)
        alike = {(rank - self.hosts, rank) for rank in there}
        of_first = {(0, rank) for rank in there} | {
            (rank, self.hosts) for rank in range(self.hosts)
        }
        return alike | of_first

    def _lines(self) -> Iterator[str]:
        yield "<?xml version='1.0'?>\n"
        yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        yield f'<platform version="4.1">\n<zone id="sites" routing="{_ROUTING[self.windows]}">\n'
        for rank in range(self.ranks):
            yield f'<host id="host{rank}" speed="1e9f"/>\n'
            yield _link(f"nic{rank}", self.rate_Bps, self.lan_latency_s / 2)
        yield _link("wan", self.wan_Bps, self.delay_s)
        yield from self._pairs() if self.windows == "pair" else self._graph()
        yield "</zone>\n</platform>\n"

    def _pairs(self) -> Iterator[str]:
        """Yield a route for each two hosts."""
        connections = self.connections()
        for low, high in sorted(connections):
            yield _link(f"tcp{low}-{high}", self.connection_Bps, 0.0)
        for high in range(self.ranks):
            for low in range(high):
                way = [f"nic{low} UP"]
                if low < self.hosts <= high:
                    way += [f"tcp{low}-{high} UP"] if (low, high) in connections else []
                    way += ["wan UP"]
                yield _route(f"host{low}", f"host{high}", [*way, f"nic{high} DOWN"])

    def _graph(self) -> Iterator[str]:
        """Yield a port for each host, between its interface and both networks.

        The way over the LAN has the fewer links, which is what the routing looks at.
        """
        lan = 1e3 * self.rate_Bps
        for site in "ab":
            yield f'<router id="lan-{site}"/>\n<router id="wan-{site}"/>\n'
        for rank in range(self.ranks):
            yield f'<router id="port{rank}"/>\n'
            yield _link(f"lan{rank}", lan, 0.0)
            yield _link(f"tcp{rank}", self.connection_Bps, 0.0)
            yield _link(f"up{rank}", lan, 0.0)
        yield _route("wan-a", "wan-b", ["wan UP"])
        for rank in range(self.ranks):
            port, site = f"port{rank}", self.site(rank)
            yield _route(f"host{rank}", port, [f"nic{rank} UP"])
            yield _route(port, f"lan-{site}", [f"lan{rank} UP"])
            yield _route(port, f"wan-{site}", [f"tcp{rank} UP", f"up{rank} UP"])


def _link(name: str, rate_Bps: float, latency_s: float) -> str:  # noqa: N803 - bytes a second
    rate = f'bandwidth="{rate_Bps:.9g}Bps" latency="{latency_s:.9g}s"'
    return f'<link id="{name}" {rate} sharing_policy="SPLITDUPLEX"/>\n'


def _route(source: str, target: str, way: Sequence[str]) -> str:
    links = "".join(
        f'<link_ctn id="{name}" direction="{direction}"/>'
        for name, _, direction in (each.partition(" ") for each in way)
    )
    return f'<route src="{source}" dst="{target}">{links}</route>\n'
