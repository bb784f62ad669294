# SPDX-License-Identifier: BSD-3-Clause
"""What tuning.json holds (schema/tuning.schema.json says it for machines)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA_NAME = "lanewise-tuning"
SCHEMA_VERSION = 1
BYTES_MAX = 2**64 - 1

BLOCKING = (
    "barrier", "bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv",
    "alltoall", "reduce", "allreduce", "reduce_scatter",
)  # fmt: skip
# A nonblocking one, MPI_Ibcast, is a collective of its own here: it has evidence of its own.
NONBLOCKING = tuple(f"i{name}" for name in BLOCKING)
COLLECTIVES = (*BLOCKING, *NONBLOCKING)
# Ranks know only their own count there, so no choice by size can be the same on all of them.
WITHOUT_COMMON_SIZE = frozenset(
    {"scatterv", "gatherv", "allgatherv", "iscatterv", "igatherv", "iallgatherv"}
)


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
class Point:
    """All that was measured of a collective at one size."""

    message_bytes: int
    default: Figures
    candidates: tuple[Candidate, ...]
    confirmation: Confirmation | None = None


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
    """The evidence of a collective and what follows: Lanewise's rules and those for the MPI."""

    points: tuple[Point, ...] = ()
    rules: tuple[Rule, ...] = ()
    mpi_rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Tuning:
    """A tuning file.  `layout` has the ranks on each host, hosts in order of their first ranks."""

    lanewise: str
    created: str
    mpi_family: str
    mpi_library: str
    ranks: int
    layout: tuple[int, ...]
    margin: float
    confidence: float
    collectives: Mapping[str, CollectiveTuning] = field(default_factory=dict)
    same_bits: str = ""
