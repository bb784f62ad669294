# SPDX-License-Identifier: BSD-3-Clause
"""What tuning.json holds (schema/tuning.schema.json says it for machines)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA_NAME = "lanewise-tuning"
SCHEMA_VERSION = 2
BYTES_MAX = 2**64 - 1

NEIGHBORHOOD = (
    "neighbor_allgather", "neighbor_allgatherv",
    "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
)  # fmt: skip
BLOCKING = (
    "barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "scan", "exscan",
    *NEIGHBORHOOD,
)  # fmt: skip
# A nonblocking one, MPI_Ibcast, is a collective of its own here: it has evidence of its own.
NONBLOCKING = tuple(f"i{name}" for name in BLOCKING)
COLLECTIVES = (*BLOCKING, *NONBLOCKING)
# Ranks know only their own counts there, or have neighbours that others do not know of, so no
# choice by size can be the same on all of them.
_UNEVEN = ("scatterv", "gatherv", "allgatherv", "alltoallv", "alltoallw", *NEIGHBORHOOD)
WITHOUT_COMMON_SIZE = frozenset((*_UNEVEN, *(f"i{name}" for name in _UNEVEN)))


@dataclass(frozen=True)
class Figures:
    """A median with its interval, in seconds."""

    median_s: float
    low_s: float
    high_s: float
    repetitions: int


@dataclass(frozen=True)
class Choice:
    """What can be chosen: `origin` is `lanewise` or `mpi`; a segment of 0 is its own choice."""

    origin: str
    algorithm: str
    segment_bytes: int = 0
    lanes: int = 1


@dataclass(frozen=True)
class Candidate:
    """What was measured of a choice; `pruned` where it was given up after a short batch."""

    choice: Choice
    figures: Figures
    predicted_s: float | None = None
    pruned: bool = False


@dataclass(frozen=True)
class Confirmation:
    """The winners of a race against the default once more, in a series of fixed length."""

    default: Figures
    candidates: tuple[Candidate, ...]
    root: int = 0


@dataclass(frozen=True)
class Judged:
    """A finalist in launches that did not choose it.

    `times_s` has the median of each launch; `ratio` is over the default's, with its interval over
    the launches and the p-value of being below by the margin.  `faster` is the verdict.
    """

    choice: Choice
    times_s: tuple[float, ...]
    ratio: float
    low: float
    high: float
    p_value: float
    faster: bool


@dataclass(frozen=True)
class Judgement:
    """The finalists of a size against the default, launch by launch, and the root of each."""

    roots: tuple[int, ...]
    default_s: tuple[float, ...]
    candidates: tuple[Judged, ...]


@dataclass(frozen=True)
class Point:
    """All that was measured of a collective at one size."""

    message_bytes: int
    default: Figures
    candidates: tuple[Candidate, ...]
    confirmation: Confirmation | None = None
    judgement: Judgement | None = None


@dataclass(frozen=True)
class Rule:
    """From `from_bytes` to `to_bytes`, both included, this algorithm."""

    from_bytes: int
    to_bytes: int
    algorithm: str
    segment_bytes: int = 0
    lanes: int = 1


@dataclass(frozen=True)
class CollectiveTuning:
    """The evidence of a collective and what follows: Lanewise's rules and those for the MPI.

    There was no time for the sizes `unmeasured_bytes`.
    """

    points: tuple[Point, ...] = ()
    rules: tuple[Rule, ...] = ()
    mpi_rules: tuple[Rule, ...] = ()
    unmeasured_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tuning:
    """What was measured with one number of ranks on hosts in one order.

    `hosts` has the host of each rank, hosts numbered in the order of their first ranks; the ranks
    may also have been `in_any_order` on them (version 1).  `launches` is how many judged what
    another launch chose; 0 where none did, or one did both (version 1).
    """

    lanewise: str
    created: str
    mpi_family: str
    mpi_library: str
    hosts: tuple[int, ...]
    margin: float
    confidence: float
    collectives: Mapping[str, CollectiveTuning] = field(default_factory=dict)
    launches: int = 0
    same_bits: str = ""
    in_any_order: bool = False

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return len(self.hosts)

    @property
    def placed(self) -> str:
        """Return where the ranks were: 4 ranks on one host, or on hosts 0,0,1,1."""
        several = len(set(self.hosts)) > 1
        where = f"hosts {','.join(map(str, self.hosts))}" if several else "one host"
        return f"{self.ranks} ranks on {where}"
