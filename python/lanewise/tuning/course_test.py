# SPDX-License-Identifier: BSD-3-Clause
"""A tuning ends with its budget, in virtual time: whatever starting ranks takes, at each launch."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.tuning.course import (
    CHOOSING_SHARE,
    LAUNCHES,
    LAUNCHES_ENOUGH,
    LAUNCHES_MIN,
    LEAST_S,
    SCREENING_SHARE,
    SCREENINGS,
    Course,
    Launches,
    launches_for,
)


@dataclass
class World:
    """Launches that take `start_s` beside what they measure, and measure as long as they may."""

    start_s: float
    needed_s: float = 1e9
    now_s: float = 1000.0
    measured_s: list[float] = field(default_factory=list)

    def clock(self) -> float:
        """Return the virtual time."""
        return self.now_s

    def launch(self, course: Course, seconds: float | None) -> None:
        """Pass the time of one launch."""
        began_s = self.now_s
        measured_s = self.needed_s if seconds is None else min(seconds, self.needed_s)
        self.now_s += self.start_s + measured_s
        self.measured_s.append(measured_s)
        course.launched(began_s, measured_s)


def run_course(world: World, budget_s: float, launches: int = LAUNCHES) -> float:
    """Make all launches of a tuning; return how long it took."""
    course = Course(budget_s, launches, world.clock)
    began_s = world.now_s
    world.launch(course, course.choosing_s())
    for _ in range(course.screenings_of(LEAST_S, LEAST_S)):
        world.launch(course, course.launch_s(LEAST_S) - course.start_s)
    for number in range(1, launches + 1):
        seconds = course.judging_s(number)
        if seconds == 0:
            break
        world.launch(course, seconds)
    return world.now_s - began_s


@given(st.floats(20, 3600), st.floats(0.01, 2.0), st.integers(5, 20))
def test_a_tuning_ends_within_its_budget(budget_s: float, start_s: float, launches: int) -> None:
    assert run_course(World(start_s), budget_s, launches) <= budget_s


def test_a_minute_is_used_and_not_exceeded() -> None:
    world = World(start_s=0.7)

    taken_s = run_course(world, 60.0, 30)

    assert 55 <= taken_s <= 60
    assert len(world.measured_s) == 1 + SCREENINGS + 30
    judged_s = world.measured_s[1 + SCREENINGS :]
    assert max(judged_s) <= 1.2 * min(judged_s), "launches that judge are alike"


def test_what_choosing_leaves_goes_to_those_that_judge() -> None:
    quick, slow = World(0.5), World(0.5)
    courses = [Course(60.0, 30, world.clock) for world in (quick, slow)]
    for world, course, measured_s in zip((quick, slow), courses, (2.0, 23.0), strict=True):
        world.launch(course, measured_s)

    first, second = (course.judging_s(1) for course in courses)

    assert first is not None
    assert second is not None
    assert first - second == pytest.approx((23.0 - 2.0) / 30)


def test_what_the_command_took_before_is_part_of_the_budget() -> None:
    world = World(0.5)

    late = Course(60.0, LAUNCHES, world.clock, used_s=20.0)

    assert Course(60.0, LAUNCHES, world.clock).left_s - late.left_s == pytest.approx(20.0)


@given(st.floats(0.1, 100), st.floats(0.01, 5.0), st.integers(1, 20))
def test_the_least_budget_has_time_for_a_look_and_for_as_many_launches_as_a_rule_needs(
    look_s: float, start_s: float, launches: int
) -> None:
    least_s = Course(1.0, launches, start_s=start_s).least_s(look_s)

    course = Course(least_s, launches, clock=lambda: 0.0, start_s=start_s)
    choosing_s = course.choosing_s()
    assert choosing_s is not None
    assert choosing_s >= look_s * (1 - 1e-9)
    judged_s = (1 - CHOOSING_SHARE) * course.left_s / min(launches, LAUNCHES_MIN)
    assert judged_s - start_s >= look_s * (1 - 1e-9)


def test_without_a_budget_nobody_is_hurried() -> None:
    course = Course(0.0)

    assert course.choosing_s() is None
    assert course.judging_s(1) is None


def test_without_a_budget_those_that_judge_take_as_long_as_a_budget_would_give_them() -> None:
    for chose_s, launches in ((2.0, LAUNCHES_ENOUGH), (20.0, 15), (300.0, LAUNCHES)):
        world = World(start_s=0.5, needed_s=chose_s - 0.5)
        course = Course(0.0, clock=world.clock)
        world.launch(course, course.choosing_s())

        assert course.room_for(1.5) == launches


def test_a_number_that_is_named_is_kept() -> None:
    for named in (1, 3, 12):
        assert Course(0.0, named, enough=named).room_for(1.0) == named
        assert Course(1000.0, named, enough=named).room_for(1.0) == named


def test_a_budget_shorter_than_a_launch_still_measures_something_once() -> None:
    world = World(start_s=1.0)

    run_course(world, 0.5)

    assert world.measured_s == [pytest.approx(LEAST_S)]


@given(
    st.floats(5, 3600), st.floats(0.01, 2.0), st.floats(0.001, 100), st.floats(0.001, 100),
    st.integers(1, 20),
)  # fmt: skip
def test_launches_that_screen_leave_the_time_of_enough_that_judge(
    budget_s: float, start_s: float, screened_s: float, judged_s: float, launches: int
) -> None:
    course = Course(budget_s, launches, clock=lambda: 0.0, start_s=start_s)

    count = course.screenings_of(screened_s, judged_s)

    taken_s = count * course.launch_s(screened_s)
    assert 0 <= count <= SCREENINGS
    assert taken_s <= max(0.0, SCREENING_SHARE * course.left_s) * (1 + 1e-9)
    if count:
        assert course.left_s - taken_s >= course.enough * course.launch_s(judged_s) - 1e-6


@dataclass(frozen=True)
class Launcher:
    """A launcher whose launches differ, or not."""

    simulates: bool


def test_launches_that_do_not_differ_are_not_repeated() -> None:
    assert launches_for(Launcher(simulates=True)) == Launches(1, 1, 0)
    assert launches_for(Launcher(simulates=False)) == Launches()
    assert launches_for(Launcher(simulates=False), 9) == Launches(9, 9, SCREENINGS)
    assert launches_for(Launcher(simulates=True), 9) == Launches(9, 9, 0)
