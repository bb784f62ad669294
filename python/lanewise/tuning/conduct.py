# SPDX-License-Identifier: BSD-3-Clause
"""Conduct a tuning: launches of the ranks that choose, and more that judge what they chose.

How a launch is made is the caller's business; here is which launches there are, and when they end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from lanewise.errors import RequestError
from lanewise.tuning.content import Choice
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
Size = tuple[str, int]


@dataclass(frozen=True)
class Conducted(Generic[E]):
    """What came of all launches.

    `chosen` is what the first gave; at least `judged` launches judged each size, of the `wanted`
    that had to.
    """

    chosen: E
    judged: int
    wanted: int

    @property
    def complete(self) -> bool:
        """Tell whether all that was asked for was done."""
        return self.chosen.ended and self.judged >= self.wanted


def evidence_path(output: Path) -> Path:
    """Return where the evidence for a tuning file is kept while it is measured."""
    return output.parent / f"{output.name}.evidence"


def conduct(
    course: Course, evidence: Path, points: int, launch: Callable[[Launch], E]
) -> Conducted[E]:
    """Choose among all candidates of so many `points`, and judge, within the budget of `course`.

    RequestError where the budget is too short for the first launch.
    """
    chosen = launch(Launch(course.choosing_s(), points))
    if not chosen.ended:
        refuse_too_short(course, evidence, chosen.least_s)
    # Statistics take a second to import, which a tuning that is refused need not wait for.
    from lanewise.tuning.evidence import read_evidence  # noqa: PLC0415
    from lanewise.tuning.judging import judging  # noqa: PLC0415
    from lanewise.tuning.screening import screening  # noqa: PLC0415

    _, records = read_evidence(evidence)
    course.chose(first_launch_s(records))
    screened = screening(course, records)
    with finalists_kept(evidence, screened.content, screened.launches) as candidates:
        for number in range(1, screened.launches + 1):
            if course.spare_s(screened.judged_s) < course.start_s + screened.seconds:
                break
            place = f", screening {number} of {screened.launches}"
            launch(candidates.launch(number, screened.seconds, place))
    planned = judging(course, *read_evidence(evidence))
    course.launches = planned.launches
    with finalists_kept(evidence, planned.content, planned.launches) as finalists:
        wanted = course.enough if finalists.sizes else 0
        for made, number in enumerate(planned.numbers, start=1):
            seconds = course.judging_s(made)
            if seconds == 0:
                break
            place = f", launch {planned.done + made} of {planned.done + planned.launches}"
            launch(finalists.launch(number, seconds, place))
        judged = finalists.judged_in(evidence)
    return Conducted(chosen, judged, wanted)


def first_launch_s(records: Iterable[Mapping[str, Any]]) -> float:
    """Return how long the first launch measured, from what it wrote of each size."""
    return sum(float(one.get("elapsed_s", 0.0)) for one in records if one["record"] == "point")


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


@dataclass(frozen=True)
class Finalists:
    """The file from which ranks read what to screen or to judge, and what it holds."""

    path: Path
    content: Mapping[str, Any]
    launches: int

    @property
    def sizes(self) -> int:
        """Return how many sizes have finalists."""
        return len(self.content["points"])

    def launch(self, number: int, seconds: float | None, place: str) -> Launch:
        """Write the file for one launch, which begins with another size than the one before.

        Where launches end before their last size, no size is the last one of all: few launches
        begin far apart.
        """
        points = self.content["points"]
        step = max(1, len(points) // self.launches)
        first = (number - 1) * step % len(points)
        ordered = {**self.content, "points": [*points[first:], *points[:first]]}
        self.path.write_text(json.dumps(ordered), encoding="utf-8")
        words = (f"--finalists={self.path}", f"--launch={number}")
        return Launch(seconds, self.sizes, words, place, resumed=True)

    def judged_in(self, evidence: Path) -> int:
        """Return how many launches judged each finalist of each size at least."""
        from lanewise.tuning.evidence import launches_in  # noqa: PLC0415

        launches = launches_in(evidence)
        counts = [
            sum(choice in one.ran for one in launches.get(size, ()))
            for size, choices in self.choices()
            for choice in choices
        ]
        return min(counts, default=0)

    def choices(self) -> Iterator[tuple[Size, set[Choice]]]:
        """Give each size with its finalists."""
        for one in self.content["points"]:
            named = {Choice(**candidate) for candidate in one["candidates"]}
            yield (one["collective"], one["message_bytes"]), named


@contextmanager
def finalists_kept(
    evidence: Path, content: Mapping[str, Any], launches: int
) -> Iterator[Finalists]:
    """Give what there is to screen or to judge, whose file lies beside the evidence meanwhile."""
    path = evidence.with_suffix(".finalists")
    try:
        yield Finalists(path, content, launches)
    finally:
        path.unlink(missing_ok=True)
