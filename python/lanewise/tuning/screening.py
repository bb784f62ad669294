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

from lanewise.tuning.course import Course
from lanewise.tuning.evidence import chosen_file, finalists_file
from lanewise.tuning.judge import promising
from lanewise.tuning.judging import enough_s, least_s


@dataclass(frozen=True)
class Screening:
    """What is screened, as the native program reads it, in so many launches of so many seconds."""

    content: Mapping[str, Any]
    launches: int
    seconds: float


def screening(
    course: Course, context: Mapping[str, Any], records: Sequence[Mapping[str, Any]]
) -> Screening:
    """Return what there is time to screen; nothing where launches have judged already.

    Where there is no time to repeat everything often enough in all launches, each repeats it a few
    times only: what differs more is the launches.
    """
    content = chosen_file("screening", records, lambda point, _: promising(point))
    if not content["points"] or any(one.get("record") == "judgement" for one in records):
        return Screening(content, 0, 0.0)
    judged_s = enough_s(finalists_file(context, records))
    measured_s = enough_s(content)
    launches = course.screenings_of(measured_s, judged_s)
    if launches < course.screenings:
        measured_s = least_s(content)
        launches = course.screenings_of(measured_s, judged_s)
    return Screening(content, launches, course.launch_s(measured_s) - course.start_s)
