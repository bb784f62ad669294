# SPDX-License-Identifier: BSD-3-Clause
"""Rules exist where the evidence supports them, and nowhere else."""

from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.tuning.content import (
    BYTES_MAX,
    WITHOUT_COMMON_SIZE,
    Candidate,
    Choice,
    Confirmation,
    Point,
    Rule,
)
from lanewise.tuning.decide import clearly_below, decide
from lanewise.tuning.specimen import MARGIN, figures, ours, own, point

CHOICES = (ours("binomial"), ours("chain", 8192), own("linear"))
times = st.floats(4e-6, 12e-6)


@st.composite
def points(draw: st.DrawFn) -> list[Point]:
    """Draw evidence in which race and confirmation need not agree."""
    sizes = draw(st.lists(st.integers(0, 5000), unique=True, max_size=6))
    found = []
    for size in sizes:
        race = [Candidate(c, figures(draw(times), 0.02)) for c in CHOICES]
        again = [Candidate(c, figures(draw(times), 0.02)) for c in CHOICES if draw(st.booleans())]
        confirmation = Confirmation(figures(draw(times)), tuple(again)) if again else None
        found.append(Point(size, figures(draw(times)), tuple(race), confirmation))
    return found


def wins(point: Point, rule: Rule, origin: str, margin: float) -> bool:
    """Tell, written anew, whether a rule's algorithm was faster at a point significantly."""
    wanted = Choice(origin, rule.algorithm, rule.segment_bytes, rule.lanes)
    if point.confirmation is None:
        return False
    series = [
        (point.default, point.candidates),
        (point.confirmation.default, point.confirmation.candidates),
    ]
    return all(
        any(
            c.choice == wanted
            and c.figures.high_s < (1 - margin) * default.low_s
            and c.figures.repetitions >= 20
            for c in candidates
        )
        for default, candidates in series
    )


@given(points(), st.sampled_from(["scatter", "allgatherv"]), st.sampled_from([0.0, 0.03, 0.2]))
def test_no_rule_covers_a_size_that_its_neighbours_do_not_support(
    evidence: list[Point], collective: str, margin: float
) -> None:
    decided = decide(collective, evidence, margin)

    sizes = sorted(one.message_bytes for one in evidence)
    at = {one.message_bytes: one for one in evidence}
    for origin, rules in (("lanewise", decided.rules), ("mpi", decided.mpi_rules)):
        for rule in rules:
            if collective in WITHOUT_COMMON_SIZE:
                assert (rule.from_bytes, rule.to_bytes) == (0, BYTES_MAX)
                assert all(wins(one, rule, origin, margin) for one in evidence)
                continue
            assert sizes[0] <= rule.from_bytes <= rule.to_bytes <= sizes[-1]
            below = max(size for size in sizes if size <= rule.from_bytes)
            above = min(size for size in sizes if size >= rule.to_bytes)
            touched = [size for size in sizes if below <= size <= above]
            assert all(wins(at[size], rule, origin, margin) for size in touched)


@given(points())
def test_rules_ascend_and_do_not_overlap(evidence: list[Point]) -> None:
    decided = decide("bcast", evidence, MARGIN)

    for rules in (decided.rules, decided.mpi_rules):
        for rule, after in pairwise(rules):
            assert rule.to_bytes < after.from_bytes
            adjacent = rule.to_bytes + 1 == after.from_bytes
            same = replace(rule, from_bytes=0, to_bytes=0) == replace(
                after, from_bytes=0, to_bytes=0
            )
            assert not (adjacent and same), "two rules that are one"


@given(points())
def test_every_size_where_a_candidate_wins_has_a_rule(evidence: list[Point]) -> None:
    decided = decide("bcast", evidence, MARGIN)

    for one in evidence:
        size = one.message_bytes
        winners = [
            c for c in CHOICES
            if c.origin == "lanewise"
            and wins(one, Rule(size, size, c.algorithm, c.segment_bytes), "lanewise", MARGIN)
        ]  # fmt: skip
        covered = any(rule.from_bytes <= size <= rule.to_bytes for rule in decided.rules)
        assert covered == bool(winners)


def test_all_patterns_of_winning_at_three_sizes_give_the_ranges_they_should() -> None:
    choice = ours("binomial")
    for pattern in product([False, True], repeat=3):
        evidence = [
            point(size, {choice: 5e-6 if won else 10e-6})
            for size, won in zip((8, 64, 512), pattern, strict=True)
        ]

        rules = decide("gather", evidence, MARGIN).rules

        covered = {size for rule in rules for size in range(rule.from_bytes, rule.to_bytes + 1)}
        first, second, third = pattern
        parts = [
            (first, range(8, 9)),
            (first and second, range(9, 64)),
            (second, range(64, 65)),
            (second and third, range(65, 512)),
            (third, range(512, 513)),
        ]
        assert covered == {size for won, sizes in parts if won for size in sizes}, pattern


def test_the_best_of_several_winners_is_chosen() -> None:
    slow, fast = ours("linear"), ours("binomial")

    rules = decide("scatter", [point(8, {slow: 8e-6, fast: 6e-6})], MARGIN).rules

    assert rules == (Rule(8, 8, "binomial"),)


def test_what_holds_for_smaller_sizes_stays_where_it_is_as_good() -> None:
    one, other = ours("linear"), ours("binomial")
    evidence = [point(8, {one: 5e-6, other: 6e-6}), point(64, {one: 5.05e-6, other: 5e-6})]

    assert decide("scatter", evidence, MARGIN).rules == (Rule(8, 64, "linear"),)


def test_between_two_sizes_only_a_winner_of_both_is_chosen() -> None:
    one, other = ours("linear"), ours("binomial")
    evidence = [point(8, {one: 5e-6}), point(64, {other: 5e-6})]

    rules = decide("scatter", evidence, MARGIN).rules

    assert rules == (Rule(8, 8, "linear"), Rule(64, 64, "binomial"))


def test_a_winner_of_the_race_alone_makes_no_rule() -> None:
    evidence = replace(point(8, {ours("binomial"): 5e-6}), confirmation=None)

    assert decide("scatter", [evidence], MARGIN).rules == ()


@pytest.mark.parametrize("margin", [0.0, 0.03, 0.2])
def test_intervals_must_lie_apart_by_the_margin(margin: float) -> None:
    edge = 10e-6 * 1.01 / (0.99 * (1 - margin))

    assert clearly_below(figures(10e-6), figures(edge * 1.001), margin)
    assert not clearly_below(figures(10e-6), figures(edge * 0.999), margin)


def test_few_repetitions_prove_nothing() -> None:
    assert not clearly_below(figures(1e-6, repetitions=19), figures(10e-6), MARGIN)
    assert clearly_below(figures(1e-6, repetitions=20), figures(10e-6), MARGIN)


@pytest.mark.parametrize("collective", ["alltoallv", "igatherv"])
def test_a_rule_for_all_sizes_needs_all_that_were_asked_for(collective: str) -> None:
    evidence = [point(8, {ours("pairwise"): 5e-6}), point(64, {ours("pairwise"): 5e-6})]

    cut_short = decide(collective, evidence, MARGIN, (8, 64, 512, 4096))
    whole = decide(collective, evidence, MARGIN, (8, 64))

    assert (cut_short.rules, cut_short.unmeasured_bytes) == ((), (512, 4096))
    assert (whole.rules, whole.unmeasured_bytes) == ((Rule(0, BYTES_MAX, "pairwise"),), ())


def test_rules_by_size_do_not_wait_for_sizes_that_are_not_measured() -> None:
    evidence = [point(8, {ours("binomial"): 5e-6})]

    assert decide("scatter", evidence, MARGIN, (8, 64)).rules == (Rule(8, 8, "binomial"),)
