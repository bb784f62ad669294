# SPDX-License-Identifier: BSD-3-Clause
"""Decide: which rules the evidence supports.  Pure.

A candidate wins at a size where launches that did not choose it judged it faster (`judge`).  Files
of version 1 have one launch only: there the whole of its interval lies below the whole of the
default's, by the margin, in the race among all candidates and again in a confirmation.

A rule covers a measured size where its candidate wins, and the sizes between two neighbours only
where it wins at both.  Outside the measured sizes there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lanewise.tuning.content import (
    BYTES_MAX,
    WITHOUT_COMMON_SIZE,
    Choice,
    CollectiveTuning,
    Figures,
    Point,
    Rule,
)

# Fewer repetitions than this prove nothing.
REPETITIONS_MIN = 20


def decide(
    collective: str, points: Iterable[Point], margin: float, asked_bytes: Iterable[int] = ()
) -> CollectiveTuning:
    """Return the evidence of a collective, sorted by size, with the rules that it supports.

    What wins at every measured size wins at every size only if all that were asked for are there.
    """
    ordered = tuple(sorted(points, key=lambda point: point.message_bytes))
    unmeasured = set(asked_bytes).difference(point.message_bytes for point in ordered)
    if unmeasured and collective in WITHOUT_COMMON_SIZE:
        return CollectiveTuning(points=ordered, unmeasured_bytes=tuple(sorted(unmeasured)))
    return CollectiveTuning(
        points=ordered,
        rules=rules_of(collective, ordered, "lanewise", margin),
        mpi_rules=rules_of(collective, ordered, "mpi", margin),
        unmeasured_bytes=tuple(sorted(unmeasured)),
    )


def clearly_below(faster: Figures, slower: Figures, margin: float) -> bool:
    """Tell whether all of one interval lies below all of the other by the margin."""
    enough = min(faster.repetitions, slower.repetitions) >= REPETITIONS_MIN
    return enough and faster.high_s < slower.low_s * (1.0 - margin)


def gains(point: Point, origin: str, margin: float) -> dict[Choice, float]:
    """Return the choices of `origin` that win at a point, with their times over the default's."""
    if point.judgement is not None:
        return {
            one.choice: one.ratio
            for one in point.judgement.candidates
            if one.choice.origin == origin and one.faster
        }
    if point.confirmation is None:
        return {}
    in_race = {
        candidate.choice
        for candidate in point.candidates
        if clearly_below(candidate.figures, point.default, margin)
    }
    default = point.confirmation.default
    return {
        candidate.choice: candidate.figures.median_s / default.median_s
        for candidate in point.confirmation.candidates
        if candidate.choice.origin == origin
        and candidate.choice in in_race
        and clearly_below(candidate.figures, default, margin)
    }


def everywhere(points: Sequence[Point], origin: str, margin: float) -> Choice | None:
    """Return the best of the choices that win at every measured size, None where there is none."""
    won = [gains(point, origin, margin) for point in points]
    return best_in_all(won, None, margin) if won else None


def best_in_all(
    won: Sequence[dict[Choice, float]], before: Choice | None, margin: float
) -> Choice | None:
    """Return the choice that gains most over all of `won`.

    `before`, what holds for smaller sizes, stays where it gains as much but for the margin: a
    rule that changes for nothing is no better.
    """
    common = set(won[0]).intersection(*won[1:])
    if not common:
        return None
    total = {choice: sum(math.log(gain[choice]) for gain in won) for choice in common}
    best = min(common, key=lambda choice: (total[choice], str(choice)))
    as_good = total[best] - len(won) * math.log1p(-margin)
    return before if before in common and total[before] <= as_good else best


def rules_of(
    collective: str, points: Sequence[Point], origin: str, margin: float
) -> tuple[Rule, ...]:
    """Return the rules for the choices of `origin`; `points` are sorted by size."""
    if collective in WITHOUT_COMMON_SIZE:
        choice = everywhere(points, origin, margin)
        return () if choice is None else (rule_of(0, BYTES_MAX, choice),)
    won = [gains(point, origin, margin) for point in points]
    rules: list[Rule] = []
    before: Choice | None = None
    for i, point in enumerate(points):
        before = best_in_all([won[i]], before, margin)
        add_rule(rules, point.message_bytes, point.message_bytes, before)
        if i + 1 == len(points):
            break
        between = best_in_all([won[i], won[i + 1]], before, margin)
        add_rule(rules, point.message_bytes + 1, points[i + 1].message_bytes - 1, between)
        before = between
    return tuple(rules)


def add_rule(rules: list[Rule], from_bytes: int, to_bytes: int, choice: Choice | None) -> None:
    """Add a range to the rules, as a part of the last rule where that goes on with it."""
    if choice is None or from_bytes > to_bytes:
        return
    new = rule_of(from_bytes, to_bytes, choice)
    if rules and rules[-1] == rule_of(rules[-1].from_bytes, from_bytes - 1, choice):
        rules[-1] = rule_of(rules[-1].from_bytes, to_bytes, choice)
    else:
        rules.append(new)


def rule_of(from_bytes: int, to_bytes: int, choice: Choice) -> Rule:
    """Return the rule for a choice in a range of sizes."""
    return Rule(from_bytes, to_bytes, choice.algorithm, choice.segment_bytes, choice.lanes)
