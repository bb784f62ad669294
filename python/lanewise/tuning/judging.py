# SPDX-License-Identifier: BSD-3-Clause
"""What is judged within a budget: how many finalists, in how many launches.  Pure.

A rule needs five launches, and each of them measures every finalist a few times.  Where there is no
time for that, there are fewer launches than were asked for, down to those five, and then only the
fastest finalist of each origin.  Where even that does not fit, as many launches are made as do.
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


@dataclass(frozen=True)
class Judging:
    """What is judged, as the native program reads it, in so many launches."""

    content: Mapping[str, Any]
    launches: int

    @property
    def sizes(self) -> int:
        """Return how many sizes have finalists."""
        return len(self.content["points"])


def least_s(content: Mapping[str, Any]) -> float:
    """Return how long a launch measures that judges all of this as briefly as it may."""
    return sum(
        BESIDE * CALLS * float(one["default_s"]) * (1 + len(one["candidates"]))
        for one in content["points"]
    )


def judging(
    course: Course, context: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> Judging:
    """Return what there is time to judge."""
    everybody = finalists_file(context, records)
    if course.budget_s == 0 or not everybody["points"]:
        return Judging(everybody, course.launches if everybody["points"] else 0)
    fewest = min(course.launches, LAUNCHES_MIN)
    fastest = finalists_file(context, records, 1)
    for content, launches in (
        (everybody, course.launches), (everybody, fewest), (fastest, fewest),
    ):  # fmt: skip
        if least_s(content) <= course.each_s(launches):
            return Judging(content, launches)
    possible = int(course.left_s / (course.start_s + least_s(fastest)))
    return Judging(fastest, min(fewest, max(0, possible)))
