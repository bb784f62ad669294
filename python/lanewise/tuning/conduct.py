# SPDX-License-Identifier: BSD-3-Clause
"""Conduct a tuning: one launch of the ranks that chooses, and several that judge what it chose.

How a launch is made is the caller's business; here is which launches there are, and when they end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

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


E = TypeVar("E", bound=Ending)


@dataclass(frozen=True)
class Conducted(Generic[E]):
    """What came of all launches: what the first gave, how many judged all, of how many wanted."""

    chosen: E
    judged: int
    wanted: int

    @property
    def complete(self) -> bool:
        """Tell whether all that was asked for was done."""
        return self.chosen.ended and self.judged == self.wanted


def conduct(
    course: Course, evidence: Path, points: int, launch: Callable[[Launch], E]
) -> Conducted[E]:
    """Choose among all candidates of so many `points`, and judge, within the budget of `course`."""
    chosen = launch(Launch(course.choosing_s(), points))
    judged = 0
    with finalists_kept(evidence) as (path, sizes):
        wanted = course.launches if sizes else 0
        for number in range(1, wanted + 1):
            seconds = course.judging_s(number)
            if seconds == 0:
                break
            words = (f"--finalists={path}", f"--launch={number}")
            place = f", launch {number} of {wanted}"
            judged += launch(Launch(seconds, sizes, words, place, resumed=True)).ended
    return Conducted(chosen, judged, wanted)


@contextmanager
def finalists_kept(evidence: Path) -> Iterator[tuple[Path, int]]:
    """Give the file from which ranks read what to judge, and how many sizes it has."""
    # Statistics take a second to import, which a tuning that is refused need not wait for.
    from lanewise.tuning.evidence import finalists_file, read_evidence  # noqa: PLC0415

    content = finalists_file(*read_evidence(evidence))
    path = evidence.with_suffix(".finalists")
    path.write_text(json.dumps(content), encoding="utf-8")
    try:
        yield path, len(content["points"])
    finally:
        path.unlink(missing_ok=True)
