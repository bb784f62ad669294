# SPDX-License-Identifier: BSD-3-Clause
"""Conduct a tuning: one launch of the ranks that chooses, and several that judge what it chose.

How a launch is made is the caller's business; here is which launches there are, and when they end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from lanewise.errors import RequestError
from lanewise.tuning.course import Course


@dataclass(frozen=True)
class Launch:
    """One launch: `words` are more arguments of the native program, `place` says where it stands.

    Its ranks may measure for so many `seconds`, None for as long as they like.  A launch that is
    `resumed` goes on with the evidence of those before it.
    """

    seconds: float | None
    points: int
    words: tuple[str, ...] = ()
    place: str = ""
    resumed: bool = False


class Ending(Protocol):
    """What a launch gave: whether it came to its end, rather than to that of its budget."""

    @property
    def ended(self) -> bool:
        """Tell whether all of it was done."""

    @property
    def least_s(self) -> float:
        """Return how long its ranks would have needed for any size; 0 where that is not known."""


E = TypeVar("E", bound=Ending)


@dataclass(frozen=True)
class Conducted(Generic[E]):
    """What came of all launches: what the first gave, how many judged all, and how many had to."""

    chosen: E
    judged: int
    wanted: int

    @property
    def complete(self) -> bool:
        """Tell whether all that was asked for was done."""
        return self.chosen.ended and self.judged >= self.wanted


def conduct(
    course: Course, evidence: Path, points: int, launch: Callable[[Launch], E]
) -> Conducted[E]:
    """Choose among all candidates of so many `points`, and judge, within the budget of `course`.

    RequestError where the budget is too short for the launch that chooses.
    """
    chosen = launch(Launch(course.choosing_s(), points))
    if not chosen.ended:
        refuse_too_short(course, evidence, chosen.least_s)
    judged = 0
    with finalists_kept(course, evidence) as (path, sizes):
        wanted = course.enough if sizes else 0
        for number in range(1, course.launches + 1):
            seconds = course.judging_s(number)
            if seconds == 0:
                break
            words = (f"--finalists={path}", f"--launch={number}")
            place = f", launch {number} of {course.launches}"
            judged += launch(Launch(seconds, sizes, words, place, resumed=True)).ended
    return Conducted(chosen, judged, wanted)


def refuse_too_short(course: Course, evidence: Path, look_s: float) -> None:
    """Raise RequestError, and leave no evidence, where no size could be compared in the budget."""
    from lanewise.tuning.evidence import read_evidence  # noqa: PLC0415

    _, records = read_evidence(evidence)
    if records:
        return
    evidence.unlink()
    given, needed = whole_duration(course.budget_s), whole_duration(course.least_s(look_s))
    remedy = f"--budget {needed} or more" if look_s else "a longer one"
    raise RequestError(
        f"a budget of {given} is too small for one launch: name {remedy}, or smaller --sizes"
    )


def whole_duration(seconds: float) -> str:
    """Return a duration as an option takes it, rounded up: `90s`, `5min`."""
    most_s = 120
    return f"{math.ceil(seconds)}s" if seconds <= most_s else f"{math.ceil(seconds / 60)}min"


@contextmanager
def finalists_kept(course: Course, evidence: Path) -> Iterator[tuple[Path, int]]:
    """Give the file from which ranks read what to judge, and how many sizes it has.

    The course has then as many launches as there is time for.
    """
    # Statistics take a second to import, which a tuning that is refused need not wait for.
    from lanewise.tuning.evidence import read_evidence  # noqa: PLC0415
    from lanewise.tuning.judging import judging  # noqa: PLC0415

    planned = judging(course, *read_evidence(evidence))
    course.launches = planned.launches
    path = evidence.with_suffix(".finalists")
    path.write_text(json.dumps(planned.content), encoding="utf-8")
    try:
        yield path, planned.sizes
    finally:
        path.unlink(missing_ok=True)
