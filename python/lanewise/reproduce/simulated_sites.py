# SPDX-License-Identifier: BSD-3-Clause
"""Simulated sites: hosts with an interface for their LAN and one for the WAN, for SMPI.

A connection between two sites carries what its window allows in a round trip, as TCP did with
the buffers of 2008: SimGrid's TCP-gamma is that window, and a flow gets at most gamma / (2 L).
Any number of hosts is simulated on one core; placement.json tells Lanewise where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lanewise.launch.job import Cluster

_SITES = "abcdefgh"


@dataclass(frozen=True)
class SimulatedSites:
    """As many hosts a site as `sites` says; rates are of an interface and of each link."""

    sites: Sequence[int]
    lan_Bps: float  # noqa: N815 - the unit is bytes a second
    wan_Bps: float  # noqa: N815
    link_Bps: float  # noqa: N815
    delay_s: float
    window_bytes: float
    lan_latency_s: float = 50e-6

    @property
    def ranks(self) -> int:
        """Return the number of hosts, one rank each."""
        return sum(self.sites)

    def site_of(self, rank: int) -> int:
        """Return the site of a rank; ranks follow one another site by site."""
        ends = [sum(self.sites[: i + 1]) for i in range(len(self.sites))]
        return next(i for i, end in enumerate(ends) if rank < end)

    def simulated(self) -> Cluster:
        """Return the cluster as the smpi fabric takes it."""
        configuration = (
            f"--cfg=network/TCP-gamma:{self.window_bytes:.0f}",
            "--cfg=smpi/lat-factor:0:1",
            "--cfg=smpi/bw-factor:0:1",
            "--cfg=network/crosstraffic:0",
            "--cfg=smpi/coll-selector:ompi",
        )
        return Cluster(platform="".join(self._lines()), configuration=configuration)

    def placement(self) -> str:
        """Return what LANEWISE_PLACEMENT should name."""
        places = [
            {"rank": rank, "host": f"host{rank}", "site": _SITES[self.site_of(rank)]}
            for rank in range(self.ranks)
        ]
        hosts = [{"host": place["host"], "site": place["site"]} for place in places]
        whole = {"schema": "lanewise-placement", "version": 1, "hosts": hosts, "ranks": places}
        return json.dumps(whole, indent=1) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "<?xml version='1.0'?>\n"
        yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        yield '<platform version="4.1">\n<zone id="sites" routing="Full">\n'
        for rank in range(self.ranks):
            yield f'<host id="host{rank}" speed="1e9f"/>\n'
        for rank in range(self.ranks):
            yield _link(f"lan{rank}", self.lan_Bps, self.lan_latency_s / 2)
            yield _link(f"wan{rank}", self.wan_Bps, self.lan_latency_s / 2)
        for one in range(len(self.sites)):
            for other in range(one + 1, len(self.sites)):
                yield _link(f"link{one}-{other}", self.link_Bps, self.delay_s)
        for sender in range(self.ranks):
            for receiver in range(self.ranks):
                if sender != receiver:
                    yield self._route(sender, receiver)
        yield "</zone>\n</platform>\n"

    def _route(self, sender: int, receiver: int) -> str:
        here, there = self.site_of(sender), self.site_of(receiver)
        kind = "lan" if here == there else "wan"
        way = [(f"{kind}{sender}", "UP")]
        if here != there:
            low, high = sorted((here, there))
            way.append((f"link{low}-{high}", "UP" if here < there else "DOWN"))
        way.append((f"{kind}{receiver}", "DOWN"))
        links = "".join(f'<link_ctn id="{link}" direction="{turn}"/>' for link, turn in way)
        ends = f'src="host{sender}" dst="host{receiver}"'
        return f'<route {ends} symmetrical="NO">{links}</route>\n'


def _link(name: str, rate_bytes_per_s: float, latency_s: float) -> str:
    return (
        f'<link id="{name}" bandwidth="{rate_bytes_per_s:.9g}Bps" latency="{latency_s:.9g}s"'
        ' sharing_policy="SPLITDUPLEX"/>\n'
    )


@contextmanager
def placed(sites: SimulatedSites, folder: Path) -> Iterator[None]:
    """Let programs that are started meanwhile find the placement."""
    path = folder / "placement.json"
    path.write_text(sites.placement(), encoding="utf-8")
    before = os.environ.get("LANEWISE_PLACEMENT")
    os.environ["LANEWISE_PLACEMENT"] = str(path)
    try:
        yield
    finally:
        path.unlink()
        if before is None:
            del os.environ["LANEWISE_PLACEMENT"]
        else:
            os.environ["LANEWISE_PLACEMENT"] = before
