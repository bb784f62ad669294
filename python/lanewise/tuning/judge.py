# SPDX-License-Identifier: BSD-3-Clause
"""Judge: which finalists are faster, by launches that did not choose them.  Pure.

Launches differ by more than the intervals within one say, so the launch is the unit of evidence:
from each comes one number, the ratio of the medians of a finalist and the default, which were
interleaved in it.  Some launches choose the finalists of a size and others judge them, because what
was chosen for its low numbers is flattered by them (the winner's curse).

A finalist is faster where Student's test of the mean logarithm of these ratios, over at least five
launches, rejects that it is 1 - margin or more.  From ten launches on, the mean leaves out one in
ten at either end, so that an odd launch does not decide.  A tuning makes many such tests; Holm's
method keeps the probability that any of its rules is wrong at half of 1 - confidence, 2.5 %,
whatever the tests have in common.  (Of one test alone this is the two-sided interval that must lie
below 1 - margin.)

In a collective with a root, the root moves from launch to launch, and how much an algorithm gains
may depend on it.  Where there are fifteen launches or more with each root, they are strata, and the
ratio is the mean over the roots.  The first launch has one root only, so where that many are
possible the fastest algorithm of each origin is judged even if it is as fast as the default.  What
is slower than the default with any of the roots is not faster: with a stratum by its mean, with two
launches or more by Student's test of their mean and the spread of the others, at a level that is
divided by the number of roots.  What a single launch shows of a root could be an odd one as well.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanewise.results.intervals import (
    STRATUM_MIN,
    holm,
    log_mean,
    p_value_above,
    p_value_below,
    trimmed_ratio,
)
from lanewise.tuning.content import Candidate, Choice, Judged, Judgement, Point
from lanewise.tuning.course import LAUNCHES, LAUNCHES_MIN

# Of each origin, so that a choice is left where neighbouring sizes disagree.
FINALISTS_MAX = 2
# Of each origin, for the launches that screen.  Who is slower by more than launches differ will not
# turn out to be the fastest.
SCREENED_MAX = 8
SCREENED_RATIO = 1.5
# From fewer launches nobody can tell how much they differ.
SPREAD_MIN = 3
ORIGINS = ("lanewise", "mpi")
METHOD = "Holm 1979, of Student's test over launches"

Size = tuple[str, int]


@dataclass(frozen=True)
class JudgedLaunch:
    """What one launch found of the finalists of one size: medians, and those that failed."""

    launch: int
    root: int
    default_s: float
    times_s: Mapping[Choice, float]
    failed: frozenset[Choice] = frozenset()

    @property
    def ran(self) -> frozenset[Choice]:
        """Return the finalists that it was to run."""
        return self.failed.union(self.times_s)


@dataclass(frozen=True)
class Standard:
    """By what it is judged.  Simulated launches do not differ, so one tells all."""

    margin: float
    confidence: float
    simulated: bool = False

    @property
    def launches_min(self) -> int:
        """Return how many launches a verdict needs."""
        return 1 if self.simulated else LAUNCHES_MIN


@dataclass(frozen=True)
class Seen:
    """What the launches that choose found of a candidate: its ratio to the default.

    The least that it may be is a standard error lower where there were enough launches for one.
    """

    choice: Choice
    ratio: float
    least: float


def promising(point: Point) -> tuple[Choice, ...]:
    """Return the choices of a size that more launches are to screen."""
    bound_s = SCREENED_RATIO * point.default.median_s
    ran = sorted(_ran(point), key=lambda one: (one.figures.median_s, str(one.choice)))
    return tuple(
        one.choice
        for origin in ORIGINS
        for one in [one for one in ran if one.choice.origin == origin][:SCREENED_MAX]
        if one.figures.median_s < bound_s
    )


def finalists(
    point: Point, margin: float, most: int = FINALISTS_MAX, roots: int = 1,
    screened: Sequence[JudgedLaunch] = (),
) -> tuple[Choice, ...]:  # fmt: skip
    """Return the choices of a size that are worth judging: the fastest of each origin, so many.

    Each is another algorithm, with the segment with which it is the fastest: two segments of one
    are often as fast as each other.  What the launches that choose show slightly too slow may still
    be faster, what is not faster at all would only make every other test stricter.  The first
    launch has one root: where those that judge take turns in several and can be strata, the fastest
    of an origin is judged if it is hardly slower there.
    """
    by_root = _are_strata(roots)
    seen = sorted(_seen(point, screened), key=lambda one: (one.ratio, str(one.choice)))
    chosen: list[Choice] = []
    for origin in ORIGINS:
        of_origin = _each_algorithm([one for one in seen if one.choice.origin == origin])
        hopeful = [one.choice for one in of_origin if one.least < 1 - margin / 2]
        if not hopeful and by_root:
            hopeful = [one.choice for one in of_origin[:1] if one.ratio < 1 + margin]
        chosen += hopeful[:most]
    return tuple(chosen)


def faster_at_once(point: Point, margin: float) -> Point:
    """Return a size of a nonblocking collective with the candidates that may be faster at once.

    In the first launch ranks wait at once, in those that screen and judge they compute meanwhile. A
    rule is for both, whatever the root.
    """
    bound_s = point.default.median_s * (1 - margin / 2)
    hopeful = [one for one in point.candidates if one.figures.median_s < bound_s]
    return replace(point, candidates=tuple(hopeful))


def _are_strata(roots: int) -> bool:
    return 1 < roots <= LAUNCHES // STRATUM_MIN


def _each_algorithm(seen: Sequence[Seen]) -> list[Seen]:
    """Return the first of each algorithm."""
    first: dict[str, Seen] = {}
    for one in seen:
        first.setdefault(one.choice.algorithm, one)
    return list(first.values())


def _ran(point: Point) -> list[Candidate]:
    """Return who ran to the end, and took any time: simulated calls that send nothing take none."""
    if point.default.median_s <= 0:
        return []
    return [one for one in point.candidates if not one.pruned and one.figures.median_s > 0]


def _seen(point: Point, screened: Sequence[JudgedLaunch]) -> list[Seen]:
    """Return what was found of the candidates that ran in all launches that choose."""
    found = []
    for one in _ran(point):
        if any(one.choice not in launch.times_s for launch in screened):
            continue
        ratios = [one.figures.median_s / point.default.median_s]
        ratios += [launch.times_s[one.choice] / launch.default_s for launch in screened]
        centre, error = log_mean(ratios)
        low = centre if len(ratios) < SPREAD_MIN else centre - error
        found.append(Seen(one.choice, math.exp(centre), math.exp(low)))
    return found


def launches_of(records: Sequence[Mapping[str, Any]]) -> dict[Size, list[JudgedLaunch]]:
    """Return what launches found of each size, in their order, from records of one stage."""
    found: dict[Size, list[JudgedLaunch]] = {}
    for record in records:
        times_s = {_choice_of(one): float(one["median_s"]) for one in record["candidates"]}
        failed = frozenset(map(_choice_of, record.get("failed", ())))
        default_s = float(record["default"]["median_s"])
        launch = JudgedLaunch(record["launch"], record["root"], default_s, times_s, failed)
        found.setdefault((record["collective"], record["message_bytes"]), []).append(launch)
    return {size: sorted(all_, key=lambda one: one.launch) for size, all_ in found.items()}


def _choice_of(one: Mapping[str, Any]) -> Choice:
    return Choice(one["origin"], one["algorithm"], one["segment_bytes"], one["lanes"])


def judge(
    points: Mapping[str, Sequence[Point]],
    launches: Mapping[Size, Sequence[JudgedLaunch]],
    standard: Standard,
) -> dict[str, list[Point]]:
    """Return the points with their judgements; all tests of the tuning are made together."""
    judged = {
        (name, point.message_bytes): judgement_of(launches[name, point.message_bytes], standard)
        for name, of_name in points.items()
        for point in of_name
        if (name, point.message_bytes) in launches
    }
    tests = [
        (size, place)
        for size, judgement in judged.items()
        if len(judgement.default_s) >= standard.launches_min
        for place in range(len(judgement.candidates))
    ]
    p_values = [judged[size].candidates[place].p_value for size, place in tests]
    level = (1 - standard.confidence) / 2
    for (size, place), rejected in zip(tests, holm(p_values, level), strict=True):
        candidates = list(judged[size].candidates)
        one = candidates[place]
        faster = rejected and not slower_with_a_root(one, judged[size], level)
        candidates[place] = replace(one, faster=faster)
        judged[size] = replace(judged[size], candidates=tuple(candidates))
    return {
        name: [
            replace(point, judgement=judged.get((name, point.message_bytes))) for point in of_name
        ]
        for name, of_name in points.items()
    }


def judgement_of(launches: Sequence[JudgedLaunch], standard: Standard) -> Judgement:
    """Return what the launches found of the finalists that never failed; nobody has won."""
    together, finalists_ = judged_together(launches, standard.launches_min)
    default_s = tuple(one.default_s for one in together)
    roots = tuple(one.root for one in together)
    candidates = []
    for choice in finalists_:
        times_s = [one.times_s[choice] for one in together]
        ratios = [mine / theirs for mine, theirs in zip(times_s, default_s, strict=True)]
        candidates.append(judged_of(choice, times_s, ratios, roots, standard))
    return Judgement(roots, default_s, tuple(candidates))


def judged_together(
    launches: Sequence[JudgedLaunch], least: int
) -> tuple[list[JudgedLaunch], list[Choice]]:
    """Return the launches in which the same finalists ran, and these.

    A run with little time judges fewer of them than one that goes on with it.  Those whom enough
    launches judged count, in the launches that judged them all.
    """
    failed = frozenset[Choice]().union(*(one.failed for one in launches))
    ran = Counter(choice for one in launches for choice in one.times_s if choice not in failed)
    together, chosen = list(launches), []
    for choice, _ in ran.most_common():
        with_it = [one for one in together if choice in one.times_s]
        if len(with_it) >= min(least, len(launches)):
            together = with_it
            chosen.append(choice)
    return together, chosen


def slower_with_a_root(one: Judged, judgement: Judgement, level: float) -> bool:
    """Tell whether the launches with some root show a finalist slower than the default."""
    of_roots: dict[int, list[float]] = {}
    for root, mine, theirs in zip(judgement.roots, one.times_s, judgement.default_s, strict=True):
        of_roots.setdefault(root, []).append(mine / theirs)
    if min(map(len, of_roots.values())) >= STRATUM_MIN:
        return any(trimmed_ratio(ratios)[0] > 1 for ratios in of_roots.values())
    return any(
        p_value_above(ratios, 1, _of_others(of_roots, root)) < level / len(of_roots)
        for root, ratios in of_roots.items()
    )


def _of_others(of_roots: Mapping[int, Sequence[float]], root: int) -> list[float]:
    return [ratio for other, ratios in of_roots.items() if other != root for ratio in ratios]


def judged_of(
    choice: Choice,
    times_s: Sequence[float],
    ratios: Sequence[float],
    roots: Sequence[int],
    standard: Standard,
) -> Judged:
    """Return the figures of one finalist."""
    bound = 1 - standard.margin
    centre, low, high = trimmed_ratio(ratios, standard.confidence, roots)
    p_value = p_value_below(ratios, bound, roots)
    if len(ratios) == 1:
        low = high = centre
    if standard.simulated and len(ratios) == 1:
        p_value = 0.0 if centre < bound else 1.0
    return Judged(choice, tuple(times_s), centre, low, high, p_value, faster=False)
