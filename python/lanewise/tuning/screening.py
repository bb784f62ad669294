# SPDX-License-Identifier: BSD-3-Clause
"""Which candidates the launches after the first one screen, and how many of these there are.  Pure.

Launches differ: where ranks share cores, a candidate that is a tenth faster in most of them is
slower in some.  Finalists that the first launch chose alone would be others in each tuning.  So
the fastest of each origin run in a few more launches, and their means choose (a two-stage
selection; Nelson et al., Simple Procedures for Selecting the Best Simulated System When the Number
of Alternatives is Large, Operations Research 49, 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.tuning.content import Choice, Point
from lanewise.tuning.course import Course
from lanewise.tuning.evidence import chosen_file, launches_of_stage
from lanewise.tuning.judge import FINALISTS_MAX, ORIGINS, promising
from lanewise.tuning.judging import enough_s, least_s


@dataclass(frozen=True)
class Screening:
    """What is screened, as the native program reads it, in so many launches of so many seconds.

    Those that judge afterwards need `judged_s` each.
    """

    content: Mapping[str, Any]
    launches: int = 0
    seconds: float = 0.0
    judged_s: float = 0.0


def screening(course: Course, records: Sequence[Mapping[str, Any]]) -> Screening:
    """Return what there is time to screen of the sizes that no launch has judged yet.

    Where there is no time to repeat everything often enough in all launches, each repeats it a few
    times only: what differs more is the launches.
    """
    judged = launches_of_stage(records, "judgement")

    def choose(point: Point, measured: Mapping[str, Any]) -> tuple[Choice, ...]:
        is_judged = (measured["collective"], point.message_bytes) in judged
        return () if is_judged else promising(point)

    content = chosen_file("screening", records, choose)
    if not content["points"]:
        return Screening(content)
    judged_s = enough_s(chosen_file("judgement", records, lambda point, _: likely_finalists(point)))
    measured_s = enough_s(content)
    launches = course.screenings_of(measured_s, judged_s)
    briefly = course.screenings_of(least_s(content), judged_s)
    if briefly > launches:
        measured_s, launches = least_s(content), briefly
    return Screening(content, launches, course.launch_s(measured_s) - course.start_s, judged_s)


def likely_finalists(point: Point) -> tuple[Choice, ...]:
    """Return as many of each origin as may be judged: who they are is not known yet."""
    return tuple(
        one
        for origin in ORIGINS
        for one in [one for one in promising(point) if one.origin == origin][:FINALISTS_MAX]
    )
