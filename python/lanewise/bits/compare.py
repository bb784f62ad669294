# SPDX-License-Identifier: BSD-3-Clause
"""Compare two runs of one program by their output and by each reduction.  Pure.

Runs on the same number of ranks are compared on every rank.  Of runs on different numbers only rank
0 is, in the reductions over all ranks; what it gets of a reduce_scatter or a scan, which is another
part then, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lanewise.bits.records import RankResults, Reduction


@dataclass(frozen=True)
class Run:
    """One run: how it was made, and what it gave."""

    name: str
    ranks: int
    output: str
    results: Mapping[int, RankResults]

    @property
    def world(self) -> int:
        """Return how many ranks the program had."""
        return self.results[0].world

    def unseen(self) -> int:
        """Return how many reductions rank 0 started and never found complete."""
        return self.results[0].unseen

    def between_groups(self) -> int:
        """Return how many reductions over intercommunicators the rank with most of them called."""
        return max(one.between_groups for one in self.results.values())

    def has_several_threads(self) -> bool:
        """Tell whether several threads of a rank called reductions."""
        return any(one.several_threads for one in self.results.values())


@dataclass(frozen=True)
class Difference:
    """The first reduction that differs, or the first that only one of two runs made."""

    rank: int
    index: int
    here: Reduction | None
    there: Reduction | None

    @property
    def is_of_bits(self) -> bool:
        """Tell whether both runs made the same call, and got different results."""
        return (
            self.here is not None
            and self.there is not None
            and self.here.call() == self.there.call()
        )


def first_difference(reference: Run, other: Run) -> Difference | None:
    """Return the first reduction in which `other` differs, the earliest over all ranks."""
    same_ranks = reference.world == other.world
    ranks = sorted(reference.results.keys() & other.results.keys()) if same_ranks else [0]
    found = [
        difference
        for rank in ranks
        if (difference := difference_on(rank, reference, other, same_ranks=same_ranks))
    ]
    return min(found, key=lambda one: (one.index, one.rank), default=None)


def not_compared(reference: Run, other: Run) -> int:
    """Return how many reductions that both runs made could not be compared, on the worst rank."""
    same_ranks = reference.world == other.world
    ranks = reference.results.keys() & other.results.keys() if same_ranks else {0}

    def on(rank: int) -> int:
        pairs = pairs_on(rank, reference, other)
        if same_ranks:
            return sum(one.count > 0 and not (gave and gives) for one, _, gave, gives in pairs)
        return sum(
            not (is_whole(one, gave, reference.world) and is_whole(two, gives, other.world))
            for one, two, gave, gives in pairs
        )

    return max(map(on, ranks))


def pairs_on(
    rank: int, reference: Run, other: Run
) -> Iterator[tuple[Reduction, Reduction, int, int]]:
    """Return the reductions that a rank made in both runs, in order, and what they gave there."""
    there, here = reference.results[rank], other.results[rank]
    return zip(there.reductions, here.reductions, there.hashes, here.hashes, strict=False)


def is_whole(reduction: Reduction, result: int, world: int) -> bool:
    """Tell whether rank 0 has the result over all ranks, which it has on any number of them."""
    return result != 0 and reduction.ranks == world and not reduction.gives_a_part()


def difference_on(rank: int, reference: Run, other: Run, *, same_ranks: bool) -> Difference | None:
    """Return the first reduction in which a rank of `other` differs from that of `reference`."""
    for index, (one, two, gave, gives) in enumerate(pairs_on(rank, reference, other)):
        if one.call() != two.call():
            return Difference(rank, index, two, one)
        comparable = same_ranks or (
            is_whole(one, gave, reference.world) and is_whole(two, gives, other.world)
        )
        if comparable and (gave, one.count) != (gives, two.count):
            return Difference(rank, index, two, one)
    there, here = reference.results[rank].reductions, other.results[rank].reductions
    index = min(len(there), len(here))
    if len(there) == len(here):
        return None
    one_more = here[index] if len(here) > index else None
    missing = there[index] if len(there) > index else None
    return Difference(rank, index, one_more, missing)


def sentence_of(difference: Difference, source: str) -> str:
    """Say in a sentence what differs; `source` is where the call is, empty if nobody knows."""
    where = f"{f' at {source}' if source else ''}, on rank {difference.rank}"
    number = difference.index + 1
    here, there = difference.here, difference.there
    if here is None:
        return f"reduction {number} is missing: {there.what() if there else ''}{where}"
    if there is None:
        return f"reduction {number} is one more: {here.what()}{where}"
    if difference.is_of_bits:
        return f"reduction {number} differs: {here.what()}{where}"
    return f"reduction {number} is {here.what()} in place of {there.what()}{where}"
