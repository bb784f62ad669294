# SPDX-License-Identifier: BSD-3-Clause
"""What is judged within a budget: how many finalists, in how many launches.  Pure.

Launches are what a verdict counts, so there are as many as there is time for in which every
finalist is repeated often enough for a median.  A rule needs five launches.  Where there is little
time, each of them repeats every finalist a few times only, and there are fewer of them, down to
those five; then only the fastest finalist of each origin is judged.  Where even that does not fit,
as many launches are made as do, or one that judges as many sizes as it can.  What a resumed tuning
has judged before is not judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from lanewise.tuning.content import Choice
from lanewise.tuning.course import LAUNCHES_MIN, LEAST_S, Course
from lanewise.tuning.evidence import finalists_file, launches_of_stage

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
    """What is judged, as the native program reads it, in launches with these numbers.

    As many as `done` launches of an earlier run have judged all of it.
    """

    content: Mapping[str, Any]
    numbers: tuple[int, ...] = ()
    done: int = 0

    @property
    def launches(self) -> int:
        """Return how many launches are made."""
        return len(self.numbers)


@dataclass(frozen=True)
class JudgedSoFar:
    """The launches that have judged all of a content, and those that no longer can.

    A run with little time judges fewer finalists.  Launches that go on with it are others than its
    own, or the rest would never be judged.
    """

    content: Mapping[str, Any]
    whole: frozenset[int]
    spoiled: frozenset[int]

    def planned(self, launches: int) -> Judging:
        """Return so many launches, of which those come first that were cut short."""
        numbers = (one for one in count(1) if one not in self.whole | self.spoiled)
        return Judging(self.content, tuple(islice(numbers, max(0, launches))), len(self.whole))


def judged_so_far(content: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> JudgedSoFar:
    """Return which launches of `records` have judged the content."""
    launches = launches_of_stage(records, "judgement")
    asked = [
        (
            {Choice(**candidate) for candidate in one["candidates"]},
            {
                launch.launch: launch.ran
                for launch in launches.get((one["collective"], one["message_bytes"]), ())
            },
        )
        for one in content["points"]
    ]
    numbers = {number for _, ran in asked for number in ran}
    whole = {
        number for number in numbers if all(some <= ran.get(number, set()) for some, ran in asked)
    }
    spoiled = {number for some, ran in asked for number, found in ran.items() if not some <= found}
    return JudgedSoFar(content, frozenset(whole), frozenset(spoiled))


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
    """Return what there is time to judge, beside what launches have judged before."""
    everybody = judged_so_far(finalists_file(context, records), records)
    if not everybody.content["points"]:
        return Judging(everybody.content)
    done = len(everybody.whole)
    if course.budget_s == 0:
        return everybody.planned(course.room_for(usual_s(everybody.content)) - done)
    launches = min(course.room_for(enough_s(everybody.content)), course.launches - done)
    if done + launches >= course.enough:
        return everybody.planned(launches)
    return hurried(course, everybody, judged_so_far(finalists_file(context, records, 1), records))


def hurried(course: Course, everybody: JudgedSoFar, fastest: JudgedSoFar) -> Judging:
    """Return what there is time to judge if there is little: all finalists or the fastest."""
    fewest = min(course.enough, LAUNCHES_MIN)
    for wanted, some in ((course.enough, everybody), (fewest, everybody), (fewest, fastest)):
        missing = wanted - len(some.whole)
        if missing > 0 and least_s(some.content) <= course.each_s(missing):
            return some.planned(missing)
    more, wanted = (fastest, fewest) if len(fastest.whole) < fewest else (everybody, course.enough)
    missing = wanted - len(more.whole)
    fitting = max(course.room_for(least_s(more.content)), launches_begun(course, more.content))
    return more.planned(min(missing, fitting))


def launches_begun(course: Course, content: Mapping[str, Any]) -> int:
    """Return 1 if there is time for a size at least, of a launch that the next run ends, or 0.

    Or runs with the same small budget would judge nothing, however many there are.
    """
    size_s = CALLS * min(rounds_s(content))
    return 1 if course.each_s(1) >= max(LEAST_S, size_s) else 0
