# SPDX-License-Identifier: BSD-3-Clause
"""How P is chosen, and what figures are made of what was measured."""

from __future__ import annotations

import pytest

from experiments.multilane import scatter_gather as multilane
from experiments.multilane.scatter_gather import LANES, LARGE, MEDIUM, Found, Predicted, lanes_way
from experiments.multilane.two_sites import IN_A_ROW


def seen(first_s: dict[int, float], then_s: dict[int, float]) -> dict[str, list[float]]:
    """Return the rounds of a comparison: two that choose, two that judge."""
    return {
        "default": [4.0] * 4,
        "single_lane": [4.0] * 4,
        lanes_way(4, "three_step"): [1.5] * 4,
        **{lanes_way(p): [first_s[p]] * 2 + [then_s[p]] * 2 for p in LANES},
    }


GOOD = {1: 4.0, 2: 2.0, 3: 1.4, 4: 1.0}
FOUR = Predicted(model_s={1: 4, 2: 2, 3: 2, 4: 1}, priced_s={1: 4, 2: 2, 3: 1, 4: 2})
TWO = Predicted(model_s={1: 4, 2: 1, 3: 2, 4: 2}, priced_s={1: 4, 2: 1, 3: 2, 4: 2})


def test_the_better_of_two_predictions_chooses() -> None:
    """Three lanes are priced best and four are so by T(P); four were faster."""
    assert multilane.choose(seen(GOOD, GOOD), FOUR) == 4


def test_what_is_measured_overrules_a_prediction_that_is_off() -> None:
    """Both predict two lanes, four take half the time."""
    assert multilane.choose(seen(GOOD, GOOD), TWO) == 4


def test_no_round_both_chooses_and_judges() -> None:
    number_of_round = [run // IN_A_ROW for run in range(multilane.ROUNDS * IN_A_ROW)]

    chooses, judges = multilane.halves([float(number) for number in number_of_round])

    assert chooses < judges
    middle = len(number_of_round) // 2
    assert not set(number_of_round[:middle]) & set(number_of_round[middle:])


def test_a_choice_is_judged_by_turns_that_did_not_make_it() -> None:
    """Four lanes won the first rounds and lost the others."""
    turned = {**GOOD, 3: 0.8, 4: 1.2}
    times = {LARGE: seen(GOOD, turned), MEDIUM: seen(GOOD, turned)}
    found = Found(times, {}, {LARGE: FOUR, MEDIUM: FOUR}, [31e6, 62e6, 93e6, 124e6], 0.005)

    figures = multilane.figures_of(found, {LARGE: 4, MEDIUM: 4})

    assert figures["chosen_over_best"] == pytest.approx(1.5)
    assert figures["speedup_over_single_lane"] == pytest.approx(4.0 / 1.2)
    assert figures["speedup_4MB"] == pytest.approx(4.0 / 1.2)


def test_lanes_that_are_quicker_than_their_bound_say_that_it_is_a_bad_one() -> None:
    times = {size: seen(GOOD, GOOD) for size in (LARGE, MEDIUM)}
    slow_lanes = Found(times, {}, {LARGE: FOUR, MEDIUM: FOUR}, [31e6, 60e6], 0.005)

    figures = multilane.figures_of(slow_lanes, {LARGE: 4, MEDIUM: 4})

    assert figures["fraction_of_bound"] > multilane.FRACTION_MAX
    assert not multilane.SCATTER.targets["fraction_of_bound_max"].met_by(
        figures["fraction_of_bound_max"]
    )


def test_the_bound_is_the_goodput_of_all_lanes_and_the_latency() -> None:
    """Four blocks of 16 MiB at 64 MiB a second, and 5 ms."""
    found = Found({}, {}, {}, [16 * 2.0**20, 64 * 2.0**20], 0.005)

    assert multilane.bound(found, LARGE) == pytest.approx(1.005)
