# SPDX-License-Identifier: BSD-3-Clause
"""The first reduction that differs is found, among ranks and across numbers of ranks."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lanewise.bits.compare import Run, first_difference, not_compared, sentence_of
from lanewise.bits.records import CallSite, RankResults, Reduction, parsed
from lanewise.errors import RunError

ALL = 0
SITE = CallSite("app", 64, "main")


@dataclass(frozen=True)
class Noted(Reduction):
    """A reduction with a hash of what it gave, 0 where the rank does not get that."""

    hash: int = 0xAA


SUM = Noted("allreduce", 1, "MPI_DOUBLE", "MPI_SUM", ALL, SITE)
OTHER = replace(SUM, hash=0xBB)
BLOCKS = replace(SUM, operation="reduce_scatter")


def run_of(*ranks: list[Noted]) -> Run:
    """Return a run whose ranks made these reductions; SUM is over all of them."""
    world = len(ranks)
    results = {
        rank: RankResults(
            [replace(one, ranks=one.ranks or world) for one in each],
            [one.hash for one in each],
            world=world,
        )
        for rank, each in enumerate(ranks)
    }
    return Run("run", world, "", results)


def found(reference: Run, other: Run) -> tuple[int, int, str] | None:
    """Return the rank, the index and the sentence of the first difference."""
    difference = first_difference(reference, other)
    if difference is None:
        return None
    return difference.rank, difference.index, sentence_of(difference, "app.c:7")


def test_runs_that_gave_the_same_do_not_differ() -> None:
    assert found(run_of([SUM, SUM], [SUM, SUM]), run_of([SUM, SUM], [SUM, SUM])) is None


def test_the_earliest_difference_over_all_ranks_is_told() -> None:
    one = run_of([SUM, SUM, SUM], [SUM, SUM, SUM])
    two = run_of([SUM, SUM, OTHER], [SUM, OTHER, SUM])

    assert found(one, two) == (
        1, 1, "reduction 2 differs: MPI_Allreduce of 1 MPI_DOUBLE by MPI_SUM at app.c:7, on rank 1",
    )  # fmt: skip


def test_on_another_number_of_ranks_rank_0_is_compared_but_for_its_blocks() -> None:
    block = replace(BLOCKS, hash=0xCC, count=5)

    assert found(run_of([SUM, BLOCKS], [OTHER, BLOCKS]), run_of([SUM, block])) is None
    assert found(run_of([SUM, BLOCKS]), run_of([OTHER, block], [SUM, block])) is not None


def test_a_result_that_another_rank_has_is_not_compared_across_numbers_of_ranks() -> None:
    elsewhere = replace(SUM, hash=0, count=0)

    assert found(run_of([elsewhere]), run_of([SUM], [SUM])) is None


@pytest.mark.parametrize(
    "part",
    [replace(SUM, operation="scan"), replace(SUM, operation="persistent_scan"),
     replace(SUM, ranks=1)],
    ids=["scan", "persistent scan", "on some of the ranks"],
)  # fmt: skip
def test_a_result_over_some_of_the_ranks_is_not_compared_across_numbers_of_ranks(
    part: Noted,
) -> None:
    other = replace(part, hash=0xBB)
    one, two = run_of([part, SUM], [part, SUM]), run_of(*[[other, SUM]] * 4)

    assert found(one, two) is None
    assert not_compared(one, two) == 1
    assert found(one, run_of([other, SUM], [part, SUM])) is not None


def test_what_is_not_compared_across_numbers_of_ranks_is_counted() -> None:
    elsewhere = replace(SUM, hash=0, count=0)
    one = run_of([SUM, BLOCKS, elsewhere, SUM])
    two = run_of([SUM, BLOCKS, SUM, SUM], [SUM, BLOCKS, SUM, SUM])

    assert not_compared(one, two) == 2
    assert not_compared(one, one) == 0
    unread = run_of([SUM], [replace(SUM, hash=0)])
    assert not_compared(unread, unread) == 1


@pytest.mark.parametrize(
    ("reference", "other", "sentence"),
    [
        ([SUM], [SUM, OTHER], "reduction 2 is one more: MPI_Allreduce of 1"),
        ([SUM, OTHER], [SUM], "reduction 2 is missing: MPI_Allreduce of 1"),
        ([SUM], [BLOCKS], "reduction 1 is MPI_Reduce_scatter of 1"),
    ],
)
def test_calls_that_are_not_the_same_are_told(
    reference: list[Noted], other: list[Noted], sentence: str
) -> None:
    told_of = found(run_of(reference), run_of(other))

    assert told_of is not None
    assert sentence in told_of[2]


def test_records_of_a_file_become_reductions_in_the_order_of_their_starts() -> None:
    call: dict[str, Any] = {
        "operation": "allreduce", "count": 1, "type": "MPI_DOUBLE", "op": "MPI_SUM", "ranks": 2,
        "hash": "aa", "number": 1, "from": 0,
    }  # fmt: skip
    records: list[dict[str, Any]] = [
        {"world": 5},
        {"site": 0, "object": "app", "offset": 64, "symbol": "main"},
        call,
        {**call, "operation": "iallreduce", "hash": "bb", "number": 0},
        {"end": True, "unseen": 3, "between_groups": 2, "several_threads": True},
    ]

    waited_for = Reduction("allreduce", 1, "MPI_DOUBLE", "MPI_SUM", 2, SITE)
    started_first = replace(waited_for, operation="iallreduce")
    assert parsed(records, Path("/tmp/run/rank-0.jsonl")) == RankResults(
        [started_first, waited_for], array("Q", [0xBB, 0xAA]),
        unseen=3, between_groups=2, several_threads=True, world=5,
    )  # fmt: skip


def test_results_without_their_last_record_are_refused() -> None:
    with pytest.raises(
        RunError, match="the results of rank 3 end early; free space in /tmp, or let "
    ):
        parsed([{"world": 5}], Path("/tmp/run/rank-3.jsonl"))


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("reduce", "MPI_Reduce"),
        ("ireduce_scatter", "MPI_Ireduce_scatter"),
        ("persistent_allreduce", "MPI_Allreduce_init"),
    ],
)
def test_a_reduction_is_called_by_the_function_that_made_it(operation: str, name: str) -> None:
    assert replace(SUM, operation=operation).what() == f"{name} of 1 MPI_DOUBLE by MPI_SUM"
