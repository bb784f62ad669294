# SPDX-License-Identifier: BSD-3-Clause
"""What the suite measures: benchmarks, the launches that they share, and the figures they make.

A figure is a quantity of one benchmark against message size.  `moved` is how many messages a rank
moves in the time that is measured, as Pallas counts them: two for send-receive, four for exchange.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from lanewise.errors import RequestError

# A receiver of these holds a window of messages.
WINDOWED = frozenset({
    "streaming", "bidirectional", "pairs_rate", "preposted_rate", "peers_rate", "unirandom_rate",
    "birandom_rate", "fan_in_rate", "fan_out_rate", "put_streaming", "get_streaming",
    "put_streaming_both", "put_streaming_both_pscw", "persistent_streaming",
    "persistent_bidirectional",
})  # fmt: skip

Effort = Literal["quick", "standard", "full"]
Quantity = Literal["time", "bandwidth", "rate"]


@dataclass(frozen=True)
class Group:
    """Benchmarks that are measured in one launch, at the same sizes (the grammar of --sizes).

    A group with `options` of its own takes about `takes_s` and no share of the time for points.
    """

    name: str
    benchmarks: tuple[str, ...]
    quick_sizes: str
    sizes: str
    efforts: tuple[Effort, ...] = ("quick", "standard", "full")
    options: tuple[str, ...] = ()
    takes_s: float = 0.0

    def sizes_for(self, effort: Effort) -> str:
        """Return the sizes, few of them where it must be quick."""
        return self.quick_sizes if effort == "quick" else self.sizes

    def has_windows(self) -> bool:
        """Say whether a rank holds a window of messages for any of its benchmarks."""
        return bool(WINDOWED & set(self.benchmarks))


@dataclass(frozen=True)
class Figure:
    """One figure of the report; `better` says which way is good, `rank_at` are sizes to rank at."""

    key: str
    title: str
    paper: str
    benchmark: str
    quantity: Quantity
    rank_at: tuple[int, ...]
    moved: int = 1

    def value(self, seconds: float, message_bytes: int) -> float:
        """Return the quantity: seconds, bytes a second or messages a second."""
        if self.quantity == "time":
            return seconds
        if seconds <= 0:
            return float("nan")
        return self.moved * (message_bytes if self.quantity == "bandwidth" else 1) / seconds


_LATER: tuple[Effort, ...] = ("standard", "full")
_FULL: tuple[Effort, ...] = ("full",)

# Subjects of lanewise-measure that are no operations, and the program that is run at the end.
POLLING = "polling"
WAITING = "post-work-wait"
APPLICATION = "application"

GROUPS: tuple[Group, ...] = (
    Group(
        "point", ("pingpong", "pingping", "sendrecv", "exchange"),
        "8,64,512,4K,16K,64K,256K,1M", "8:4M:x2",
    ),
    Group(
        "stream", ("streaming", "bidirectional", "pairs_rate", "preposted_rate", "peers_rate"),
        "8,512,4K,32K", "8:256K:x2",
    ),
    Group("collective", ("bcast", "allreduce", "alltoall"), "8,512,8K,64K,512K", "8:1M:x2"),
    Group(
        "collective-more",
        ("reduce", "gather", "scatter", "allgather", "reduce_scatter", "scan", "barrier"),
        "8,4K,64K", "8:256K:x4", _LATER,
    ),
    Group(
        "one-sided",
        tuple(f"{what}_{how}" for what in ("put", "get", "accumulate", "get_accumulate",
                                           "fetch_op", "compare_swap")
              for how in ("fence", "pscw", "lock", "flush")),
        "8,4K,64K", "8:256K:x8", _FULL,
    ),
    Group(
        "one-sided-patterns",
        (*(f"{who}_{what}" for who in ("bidirectional", "exchange") for what in ("put", "get")),
         *(f"{who}_{what}_all" for who in ("one", "all") for what in ("put", "get")),
         "put_streaming", "get_streaming", "put_streaming_both", "put_streaming_both_pscw",
         "passive_put"),
        "8,4K,64K", "8:256K:x8", _FULL,
    ),
    Group(
        "stream-more",
        ("unirandom_rate", "birandom_rate", "fan_in_rate", "fan_out_rate", "pingpong_any_source",
         "pingping_any_source", "pairs_pingpong", "sendrecv_replace", "shared_memory_ring"),
        "8,512,4K,32K", "8:256K:x8", _FULL,
    ),
    Group(
        "neighbourhood",
        (*(f"{where}_{what}" for where in ("grid", "igrid", "graph")
           for what in ("allgather", "allgatherv", "alltoall", "alltoallv")),
         "grid_alltoallw", "igrid_alltoallw", "grid3_alltoall"),
        "8,4K,64K", "8:256K:x8", _FULL,
    ),
    Group(
        "persistent",
        ("persistent_sendrecv", "persistent_pingpong", "persistent_streaming",
         "persistent_bidirectional",
         *(f"persistent_{name}" for name in (
             "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv",
             "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
             "reduce_scatter_block", "scan", "exscan", "barrier",
         )),
         "partitioned", "thread_pairs"),
        "8,4K,64K", "8:256K:x8", _FULL,
    ),
    Group(
        "overlap",
        ("ibcast", "overlapped_ibcast", "iallreduce", "overlapped_iallreduce", "ialltoall",
         "overlapped_ialltoall"),
        "4K,64K", "1K:1M:x4", _LATER,
    ),
    Group(
        POLLING, (POLLING,), "100000", "100000",
        options=("--intervals", "1e-6:3e-3:7", "--work", "0.012", "--repetitions", "5"),
        takes_s=2.0,
    ),
    Group(
        WAITING, (WAITING,), "4K,100000,1M", "64:4M:x4",
        options=("--repetitions", "9"), takes_s=2.0,
    ),
    Group(APPLICATION, (APPLICATION,), "", "", takes_s=6.0),
)  # fmt: skip

FIGURES: tuple[Figure, ...] = (
    Figure("latency", "Ping-pong latency", "Fig. 1", "pingpong", "time", (8,)),
    Figure("bandwidth", "Ping-pong bandwidth", "Fig. 2", "pingpong", "bandwidth", (1 << 20,)),
    Figure("bidirectional", "Send-receive bandwidth", "Fig. 3", "sendrecv", "bandwidth",
           (1 << 20,), 2),
    Figure("exchange", "Exchange bandwidth", "Fig. 4", "exchange", "bandwidth", (1 << 20,), 4),
    Figure("bcast", "Broadcast", "Fig. 5", "bcast", "time", (8, 65536)),
    Figure("allreduce", "Allreduce", "Fig. 6", "allreduce", "time", (8, 65536)),
    Figure("alltoall", "Alltoall", "Fig. 7", "alltoall", "time", (8, 65536)),
    Figure("streaming", "Streaming bandwidth", "Fig. 8", "streaming", "bandwidth", (32768,)),
    Figure("rate", "Message rate", "Fig. 9", "streaming", "rate", (8,)),
)  # fmt: skip


def groups_for(effort: Effort, wanted: Iterable[str] = ()) -> list[Group]:
    """Return the groups of an effort, cut down to the benchmarks that are wanted, if any are."""
    names = list(wanted)
    known = sorted({benchmark for group in GROUPS for benchmark in group.benchmarks})
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use some of {', '.join(known)}"
            raise RequestError(f"no benchmark '{name}' in the suite; {remedy}")
    groups = []
    for group in GROUPS:
        benchmarks = tuple(name for name in group.benchmarks if name in names or not names)
        if benchmarks and (names or effort in group.efforts):
            groups.append(replace(group, benchmarks=benchmarks))
    return groups
