# SPDX-License-Identifier: BSD-3-Clause
"""What is judged within a budget: how many finalists, in how many launches.  Pure.

Launches are what a verdict counts, so there are as many as there is time for in which every
finalist is repeated often enough for a median.  A rule needs five launches.  Where there is little
time, each of them repeats every finalist a few times only, and there are fewer of them, down to
those five; then only the fastest finalist of each origin is judged.  Where even that does not fit,
as many launches are made as do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.tuning.course import LAUNCHES_MIN, Course
from lanewise.tuning.evidence import finalists_file

# As src/tune/comparison_run.cpp plans a judgement for which there is little time: two batches with
# three repetitions in all, two calls before each batch, and what lies between calls.
CALLS = 3 + 2 * 2
BESIDE = 1.5
# And one for which there is enough: so many repetitions in four batches, more if they fit in the
# time that a size has.
CALLS_ENOUGH = 20 + 4 * 2
CALLS_MAX = 200 + 4 * 2
SIZE_S = 10.0


@dataclass(frozen=True)
class Judging:
    """What is judged, as the native program reads it, in so many launches."""

    content: Mapping[str, Any]
    launches: int


def least_s(content: Mapping[str, Any]) -> float:
    """Return how long a launch measures that judges all of this as briefly as it may."""
    return CALLS * sum(rounds_s(content))


def enough_s(content: Mapping[str, Any]) -> float:
    """Return how long a launch measures that repeats all of this often enough."""
    return CALLS_ENOUGH * sum(rounds_s(content))


def usual_s(content: Mapping[str, Any]) -> float:
    """Return how long a launch measures that has no budget."""
    return sum(
        max(CALLS_ENOUGH * round_s, min(CALLS_MAX * round_s, SIZE_S))
        for round_s in rounds_s(content)
    )


def rounds_s(content: Mapping[str, Any]) -> list[float]:
    """Return how long a repetition of all that are judged takes, for each size."""
    return [
        BESIDE * float(one["repetition_s"]) * (1 + len(one["candidates"]))
        for one in content["points"]
    ]


def judging(
    course: Course, context: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> Judging:
    """Return what there is time to judge."""
    everybody = finalists_file(context, records)
    if not everybody["points"]:
        return Judging(everybody, 0)
    unhurried_s = enough_s(everybody) if course.budget_s else usual_s(everybody)
    launches = course.room_for(unhurried_s)
    if launches >= course.enough:
        return Judging(everybody, launches)
    fewest = min(course.enough, LAUNCHES_MIN)
    fastest = finalists_file(context, records, 1)
    for content, launches in (
        (everybody, course.enough), (everybody, fewest), (fastest, fewest),
    ):  # fmt: skip
        if least_s(content) <= course.each_s(launches):
            return Judging(content, launches)
    return Judging(fastest, min(fewest, course.room_for(least_s(fastest))))
