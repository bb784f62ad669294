# SPDX-License-Identifier: BSD-3-Clause
"""What a profile holds, and the sums that its tables and pictures show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Times in single calls are corrected for the drift of clocks, and their sum on a rank is not.
NEGLIGIBLE = 0.001


@dataclass(frozen=True)
class CallSite:
    """Where a collective was called from: an offset in a file, and names for it if there are."""

    object: str
    offset: int
    symbol: str = ""
    function: str = ""
    source: str = ""
    inlined_into: str = ""

    def text(self) -> str:
        """Return the best name there is: `solve solver.c:120`, `solve app+0x4a1`, `app+0x4a1`.

        A function that is inlined is followed by its callers: `sum sum.h:7 in solve solver.c:120`.
        """
        if not self.object:
            return "an unknown place"
        place = self.source or f"{Path(self.object).name}+{self.offset:#x}"
        name = f"{self.function or self.symbol} {place}".strip()
        return f"{name} in {self.inlined_into}" if self.inlined_into else name


@dataclass(frozen=True)
class Part:
    """One rank in the calls of one place; `site` is where this rank called from."""

    rank: int
    site: int
    calls: int
    bytes: int
    waiting_s: float
    transfer_s: float
    lateness_s: float
    awaited_s: float
    last_calls: int


@dataclass(frozen=True)
class Place:
    """The calls of one collective that most of their ranks make at one site."""

    operation: str
    site: int
    ranks: Sequence[Part]

    @property
    def waiting_s(self) -> float:
        """Return the time that all ranks together waited."""
        return sum(part.waiting_s for part in self.ranks)

    @property
    def transfer_s(self) -> float:
        """Return the rest of the time of all ranks together."""
        return sum(part.transfer_s for part in self.ranks)

    @property
    def time_s(self) -> float:
        """Return the time of all ranks together."""
        return self.waiting_s + self.transfer_s

    @property
    def calls(self) -> int:
        """Return how many calls the rank made that made most."""
        made: dict[int, int] = defaultdict(int)
        for part in self.ranks:
            made[part.rank] += part.calls
        return max(made.values())

    @property
    def rank_count(self) -> int:
        """Return how many ranks made these calls."""
        return len({part.rank for part in self.ranks})

    @property
    def mean_bytes(self) -> float:
        """Return the mean size of a call."""
        return sum(part.bytes for part in self.ranks) / sum(part.calls for part in self.ranks)

    def latest(self) -> list[Part]:
        """Return the ranks that others waited for, those that they waited for longest first."""
        awaited = (part for part in self.ranks if part.awaited_s > 0)
        return sorted(awaited, key=lambda part: (-part.awaited_s, part.rank))


@dataclass(frozen=True)
class Process:
    """One rank: how long it ran, and how much of that in collective calls."""

    rank: int
    host: str
    elapsed_s: float
    in_calls_s: float


@dataclass(frozen=True)
class Calls:
    """How many calls there were, of all ranks together, and what became of them."""

    attributed: int
    one_in: int
    forgotten: int
    nonblocking: int
    intercommunicator: int
    incomplete: int
    mismatched: int
    unplaced: int = 0


@dataclass(frozen=True)
class RankTimes:
    """The time of one rank: outside of collective calls, waiting in them, and transferring.

    `unattributed_s` is the time in calls of which it is not known what part was waiting.
    """

    rank: int
    host: str
    outside_s: float
    waiting_s: float
    transfer_s: float
    unattributed_s: float
    lateness_s: float
    awaited_s: float

    @property
    def elapsed_s(self) -> float:
        """Return the whole time, or that in calls where they overlapped and it is more."""
        return self.outside_s + self.waiting_s + self.transfer_s + self.unattributed_s


@dataclass(frozen=True)
class Profile:
    """A file of `lanewise run --profile`."""

    path: Path
    program: str
    hosts: int
    drift_s: float
    calls: Calls
    processes: Sequence[Process]
    sites: Sequence[CallSite]
    places: Sequence[Place] = field(default_factory=list)

    @property
    def elapsed_s(self) -> float:
        """Return the time of the rank that ran longest."""
        return max(process.elapsed_s for process in self.processes)

    def by_waiting(self) -> list[Place]:
        """Return the places, the one with most waiting first."""
        return sorted(self.places, key=lambda place: (-place.waiting_s, -place.time_s))

    def rank_times(self) -> list[RankTimes]:
        """Return the times of each rank, for all of its calls.

        Where one in several calls was kept, the time in calls, which is known, is split as that of
        the calls that were kept, and each of these stands for as many as were forgotten with it.
        """
        parts: dict[int, list[Part]] = defaultdict(list)
        for place in self.places:
            for part in place.ranks:
                parts[part.rank].append(part)
        one_in = self.calls.one_in
        return [times_of(process, parts[process.rank], one_in) for process in self.processes]


def times_of(process: Process, parts: Iterable[Part], one_in: int) -> RankTimes:
    """Return the times of one rank from its parts, which are of one in so many calls."""
    parts = list(parts)
    waiting_s = sum(part.waiting_s for part in parts)
    kept_s = waiting_s + sum(part.transfer_s for part in parts)
    share = waiting_s / kept_s if kept_s > 0 else 0.0
    unattributed_s = time_without_parts(process.in_calls_s, kept_s, one_in)
    attributed_s = process.in_calls_s - unattributed_s
    return RankTimes(
        rank=process.rank,
        host=process.host,
        outside_s=max(0.0, process.elapsed_s - process.in_calls_s),
        waiting_s=share * attributed_s,
        transfer_s=(1 - share) * attributed_s,
        unattributed_s=unattributed_s,
        lateness_s=one_in * sum(part.lateness_s for part in parts),
        awaited_s=one_in * sum(part.awaited_s for part in parts),
    )


def time_without_parts(in_calls_s: float, kept_s: float, one_in: int) -> float:
    """Return the time in calls that no part of a rank stands for.

    The parts of a call that waits for several collectives each have all of its time.
    """
    if one_in > 1 and kept_s > 0:
        return 0.0
    rest_s = in_calls_s - kept_s
    return rest_s if rest_s > NEGLIGIBLE * in_calls_s else 0.0
