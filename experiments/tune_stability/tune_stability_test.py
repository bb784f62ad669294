# SPDX-License-Identifier: BSD-3-Clause
"""What is counted over tunings and fresh launches."""

from __future__ import annotations

import math

import pytest

from experiments.tune_stability.experiment import (
    recurring_percent,
    recurring_with_others,
    ruled_by,
    same_algorithm_percent,
    slower_percent,
)
from lanewise.tuning.judge import JudgedLaunch
from lanewise.tuning.specimen import ours, own, tuning

RING, LINEAR = ours("ring"), ours("linear")
SMALL, LARGE = ("bcast", 8), ("bcast", 1024)


def test_a_rule_counts_at_each_measured_size_that_it_covers() -> None:
    one = tuning({"bcast": {8: [RING], 64: [RING], 512: []}, "scatter": {8: [own("linear_nb")]}})

    assert ruled_by(one) == {("bcast", 8): RING, ("bcast", 64): RING}


def test_rules_recur_in_pairs_of_tunings() -> None:
    ruled = [{SMALL: RING, LARGE: RING}, {SMALL: LINEAR}, {SMALL: RING}]

    # Of four rules, three recur in both other tunings, and one in none.
    assert recurring_percent(ruled) == pytest.approx(75.0)
    assert recurring_with_others(ruled, 0) == pytest.approx(50.0)
    assert recurring_with_others(ruled, 1) == pytest.approx(100.0)
    assert same_algorithm_percent(ruled) == pytest.approx(100 / 3)


def test_without_rules_nothing_recurs() -> None:
    assert math.isnan(recurring_percent([{}, {}]))
    assert math.isnan(slower_percent([{}], {}))


def test_each_rule_of_each_tuning_counts_in_each_fresh_launch() -> None:
    launches = {
        SMALL: [
            JudgedLaunch(1, 0, 10e-6, {RING: 9e-6, LINEAR: 11e-6}),
            JudgedLaunch(2, 1, 10e-6, {RING: 8e-6, LINEAR: 9e-6}),
        ]
    }

    assert slower_percent([{SMALL: RING}, {SMALL: LINEAR}], launches) == 25.0
    assert slower_percent([{SMALL: RING}, {SMALL: RING}], launches) == 0.0
