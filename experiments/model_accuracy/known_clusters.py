# SPDX-License-Identifier: BSD-3-Clause
"""Known clusters: simulated clusters with chosen parameters, as SimGrid platforms.

Each host has a processor time per message and per byte, spent by SMPI's options `os`, `ois` and
`or`; each pair of hosts has a wire of its own, on which messages do not disturb each other.  That
is the LMO model of a cluster, so its parameters have true values.  SMPI's own corrections of
latency and bandwidth are switched off, every message is eager, and an envelope of 16 bytes travels
with each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from lanewise.launch.job import Cluster

ENVELOPE_BYTES = 16
EAGER_BYTES = 1 << 30
CONFIGURATION = (
    "--cfg=network/model:CM02",
    "--cfg=network/latency-factor:1",
    "--cfg=network/bandwidth-factor:1",
    "--cfg=network/weight-S:0",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/crosstraffic:0",
    f"--cfg=smpi/async-small-thresh:{EAGER_BYTES}",
    f"--cfg=smpi/send-is-detached-thresh:{EAGER_BYTES}",
    "--cfg=smpi/wtime:0",
    "--cfg=surf/precision:1e-12",
    "--cfg=maxmin/precision:1e-12",
)


@dataclass(frozen=True)
class Line:
    """A time that grows with the size: `fixed_s` and `s_per_byte`."""

    fixed_s: float
    s_per_byte: float


@dataclass(frozen=True)
class KnownCluster:
    """Hosts by rank, and the wires between them by pair of ranks, lower first."""

    name: str
    processors: tuple[Line, ...]
    wires: dict[tuple[int, int], Line]

    @property
    def ranks(self) -> int:
        """Return the number of hosts, one rank each."""
        return len(self.processors)

    def latency_s(self, pair: tuple[int, int]) -> float:
        """Return what an empty message needs on the wire, its envelope included."""
        wire = self.wires[pair]
        return wire.fixed_s + ENVELOPE_BYTES * wire.s_per_byte

    def simulated(self) -> Cluster:
        """Return the cluster as the smpi launcher takes it."""
        return Cluster(platform="".join(self._lines()), configuration=CONFIGURATION)

    def _lines(self) -> Iterator[str]:
        yield "<?xml version='1.0'?>\n"
        yield '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        yield '<platform version="4.1">\n<zone id="cluster" routing="Full">\n'
        for rank, processor in enumerate(self.processors):
            time = f"0:{processor.fixed_s:.12g}:{processor.s_per_byte:.12g}"
            yield f'<host id="host{rank}" speed="1e9f">'
            yield from (f'<prop id="smpi/{what}" value="{time}"/>' for what in ("os", "ois", "or"))
            yield "</host>\n"
        for (low, high), wire in self.wires.items():
            yield f'<link id="{low}-{high}" bandwidth="{1 / wire.s_per_byte:.12g}Bps"'
            yield f' latency="{wire.fixed_s:.12g}s" sharing_policy="FATPIPE"/>\n'
        for low, high in self.wires:
            yield f'<route src="host{low}" dst="host{high}"><link_ctn id="{low}-{high}"/></route>\n'
        yield "</zone>\n</platform>\n"


def homogeneous(ranks: int) -> KnownCluster:
    """Return a cluster of identical hosts and wires."""
    wires = dict.fromkeys(combinations(range(ranks), 2), Line(20e-6, 5e-9))
    return KnownCluster("homogeneous", (Line(3e-6, 1e-9),) * ranks, wires)


def heterogeneous(ranks: int) -> KnownCluster:
    """Return a cluster whose hosts and wires differ by up to a factor of three."""
    processors = tuple(
        Line(2e-6 * (1 + 0.5 * (rank % 3)), 0.8e-9 * (1 + 0.6 * (rank % 4)))
        for rank in range(ranks)
    )
    wires = {
        (low, high): Line(
            10e-6 * (1 + 0.6 * ((3 * low + 5 * high) % 4)), 4e-9 * (1 + 0.7 * ((low + high) % 3))
        )
        for low, high in combinations(range(ranks), 2)
    }
    return KnownCluster("heterogeneous", processors, wires)
