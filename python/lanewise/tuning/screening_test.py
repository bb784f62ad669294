# SPDX-License-Identifier: BSD-3-Clause
"""What is screened, and in how many launches, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from lanewise.tuning.course import SCREENINGS, Course
from lanewise.tuning.judging import judging
from lanewise.tuning.judging_test import CONTEXT, START_S, candidate, size_of
from lanewise.tuning.screening import Screening, screening


def planned(budget_s: float, *records: dict[str, Any]) -> Screening:
    """Return what a course screens that has just begun."""
    course = Course(budget_s, clock=lambda: 0.0, start_s=START_S)
    return screening(course, records)


def test_the_promising_of_each_size_run_in_a_few_more_launches() -> None:
    size = size_of(1e-5)
    size["candidates"] += [candidate("lanewise", "equal", 1e-5), candidate("mpi", "slow", 2e-5)]

    plan = planned(100.0, size, size_of(1e-5, 8))

    assert (plan.content["stage"], plan.launches) == ("screening", SCREENINGS)
    first, second = plan.content["points"]
    assert [one["algorithm"] for one in first["candidates"]] == [
        "fast_of_lanewise", "slower_of_lanewise", "equal", "fast_of_mpi", "slower_of_mpi"
    ]  # fmt: skip
    assert second["message_bytes"] == 8


def test_where_time_is_short_it_is_kept_for_those_that_judge() -> None:
    launches = [planned(budget_s, size_of(1.0)).launches for budget_s in (20, 600, 1700, 4000)]

    assert launches == sorted(launches)
    assert launches[:2] == [0, 0]
    assert launches[-1] > 0
    course = Course(1700.0, clock=lambda: 0.0, start_s=START_S)
    plan = screening(course, [size_of(1.0)])
    used_s = plan.launches * (START_S + plan.seconds)
    left = Course(1700.0, clock=lambda: 0.0, start_s=START_S, used_s=used_s)
    assert judging(left, CONTEXT, [size_of(1.0)]).launches >= left.enough


@pytest.mark.parametrize(
    ("default_s", "launches", "calls"), [(1e-3, SCREENINGS, 28), (0.1, SCREENINGS, 7), (1.0, 1, 7)]
)
def test_without_a_budget_launches_that_screen_take_no_longer_than_the_first_one(
    default_s: float, launches: int, calls: int
) -> None:
    course = Course(0.0, clock=lambda: 0.0)
    course.chose(60.0)

    plan = screening(course, [size_of(default_s)])

    assert plan.launches == launches
    assert plan.seconds == pytest.approx(max(0.5, calls * 1.5 * 5 * default_s))
    assert plan.launches * (1.0 + plan.seconds) <= 61.0


def test_what_nobody_may_be_faster_than_is_not_screened() -> None:
    nobody = {**size_of(1.0), "candidates": [candidate("lanewise", "ring", 2.0)]}

    assert planned(100.0, nobody) == Screening({"stage": "screening", "points": []})


def judgement_of(size: dict[str, Any]) -> dict[str, Any]:
    """Return what a launch that judged a size wrote."""
    named = {key: size[key] for key in ("collective", "message_bytes", "default", "candidates")}
    return {**named, "record": "judgement", "launch": 1, "root": 0}


def test_sizes_that_launches_have_judged_are_screened_no_more() -> None:
    before, new = size_of(1e-5, 8), size_of(1e-5, 64)

    plan = planned(100.0, before, new, judgement_of(before))

    assert [one["message_bytes"] for one in plan.content["points"]] == [64]
    assert planned(100.0, before, judgement_of(before)).launches == 0


def test_time_is_kept_for_finalists_that_only_screening_finds() -> None:
    slow = size_of(1.0)
    for one in slow["candidates"]:
        one["median_s"] = 1.2

    assert planned(600.0, slow).judged_s == planned(600.0, size_of(1.0)).judged_s > 0


def test_where_starts_take_most_of_the_time_repetitions_are_not_saved() -> None:
    plan = planned(40.0, *(size_of(1e-5, 8 << i) for i in range(4)))

    assert 0 < plan.launches < SCREENINGS
    assert plan.seconds == 0.5 * START_S
