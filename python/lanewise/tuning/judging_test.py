# SPDX-License-Identifier: BSD-3-Clause
"""What is judged follows from what there is time for, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from lanewise.tuning.course import END_S, LAUNCHES, LAUNCHES_ENOUGH, Course
from lanewise.tuning.judging import CALLS, Judging, judging, least_s, rounds_s

CONTEXT = {"margin": 0.03}
START_S = 2.0


def figures(median_s: float) -> dict[str, Any]:
    """Return what a record has of a contender."""
    return {"median_s": median_s, "low_s": median_s, "high_s": median_s, "repetitions": 3}


def candidate(origin: str, algorithm: str, median_s: float) -> dict[str, Any]:
    """Return a candidate of a record."""
    named = {"origin": origin, "algorithm": algorithm, "segment_bytes": 0, "lanes": 1}
    return {**named, **figures(median_s), "pruned": False}


def size_of(default_s: float, message_bytes: int = 25 << 20) -> dict[str, Any]:
    """Return a size with two finalists of each origin."""
    candidates = [
        candidate(origin, f"{name}_of_{origin}", share * default_s)
        for origin in ("lanewise", "mpi")
        for name, share in (("fast", 0.5), ("slower", 0.6))
    ]
    return {
        "record": "point", "key": "one", "collective": "allreduce", "message_bytes": message_bytes,
        "default": figures(default_s), "candidates": candidates,
    }  # fmt: skip


def planned(
    budget_s: float, *sizes: dict[str, Any], launches: int = LAUNCHES, enough: int = LAUNCHES_ENOUGH
) -> Judging:
    """Return what is judged by a course that has just begun."""
    course = Course(budget_s, launches, clock=lambda: 0.0, start_s=START_S, enough=enough)
    return judging(course, CONTEXT, sizes)


def names(plan: Judging) -> list[str]:
    """Return the algorithms that are judged at the first size."""
    return [one["algorithm"] for one in plan.content["points"][0]["candidates"]]


def test_without_a_budget_all_finalists_are_judged_in_enough_launches() -> None:
    plan = planned(0.0, size_of(60.0))

    assert plan.launches == LAUNCHES_ENOUGH
    assert len(names(plan)) == 4


def test_there_are_as_many_launches_as_there_is_time_for() -> None:
    quick, slow = size_of(1e-5, 8), size_of(0.01, 1 << 20)

    assert planned(200.0, quick).launches == LAUNCHES
    # A launch measures for half as long as its start takes.
    assert planned(40.0, quick).launches == 13
    # Each repeats five contenders 28 times.
    assert planned(60.0, slow).launches == int(59 / (START_S + 1.5 * 5 * 28 * 0.01))


@pytest.mark.parametrize(
    ("budget_s", "launches", "finalists"),
    [(600.0, 7, 4), (300.0, 5, 4), (180.0, 5, 2), (100.0, 2, 2), (20.0, 0, 2)],
)
def test_less_time_means_fewer_launches_and_then_fewer_finalists(
    budget_s: float, launches: int, finalists: int
) -> None:
    plan = planned(budget_s, size_of(1.0))

    assert (plan.launches, len(names(plan))) == (launches, finalists)
    if finalists == 2:
        assert names(plan) == ["fast_of_lanewise", "fast_of_mpi"]


def test_a_repetition_takes_what_it_took_of_the_first_launch() -> None:
    busy = {**size_of(1e-5), "default": {**figures(1e-5), "repetitions": 60}, "elapsed_s": 0.3}
    for one in busy["candidates"]:
        one["repetitions"] = 60

    idle = planned(100.0, {**busy, "elapsed_s": 0.003}).content["points"][0]
    told = planned(100.0, busy).content["points"][0]
    hurried = planned(100.0, {**size_of(1e-5), "elapsed_s": 0.3}).content["points"][0]

    assert idle["repetition_s"] == hurried["repetition_s"] == 1e-5
    assert told["repetition_s"] == pytest.approx(0.3 / 300 / 2)
    assert told["default_s"] == 1e-5


def test_what_is_planned_fits() -> None:
    for budget_s in range(20, 1200, 7):
        plan = planned(float(budget_s), size_of(1.0), size_of(0.3, 4 << 20))
        taken_s = plan.launches * (START_S + least_s(plan.content)) + END_S
        begun_s = START_S + CALLS * min(rounds_s(plan.content)) + END_S
        assert taken_s <= budget_s or (plan.launches == 1 and begun_s <= budget_s)


def test_a_launch_that_has_time_for_one_size_is_begun() -> None:
    slow, quick = size_of(1.0), size_of(0.1, 4 << 20)

    assert planned(30.0, slow, quick).launches == 1
    assert planned(30.0, slow).launches == 0


def test_more_launches_are_not_made_than_are_asked_for() -> None:
    assert planned(1e4, size_of(1.0), launches=2).launches == 2
    assert planned(30.0, size_of(0.1), launches=2).launches == 2


def test_a_launch_judges_as_briefly_as_the_native_program_may() -> None:
    content = planned(0.0, size_of(2.0)).content

    assert least_s(content) == pytest.approx(1.5 * CALLS * 2.0 * 5)


def test_without_finalists_nothing_is_judged() -> None:
    nobody = {**size_of(1.0), "candidates": [candidate("lanewise", "ring", 2.0)]}

    assert planned(100.0, nobody).launches == 0
    assert planned(0.0, nobody).launches == 0
