# SPDX-License-Identifier: BSD-3-Clause
"""Intervals cover what they should, and are not claimed without data."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.results.intervals import (
    holm,
    launch_interval,
    log_mean,
    median_interval,
    p_value_below,
    rank_sum,
    ratio_interval,
    trimmed_ratio,
)

many_times = st.lists(st.floats(min_value=1e-7, max_value=1e-1), min_size=6, max_size=40)


@given(many_times, many_times)
def test_the_interval_holds_the_ratio(first: list[float], second: list[float]) -> None:
    low, high = ratio_interval(first, second, 0.95)

    ratio = float(np.median(second)) / float(np.median(first))
    assert low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)


def test_the_mean_of_logarithms_has_its_standard_error() -> None:
    centre, error = log_mean([math.exp(1), math.exp(2), math.exp(3), math.exp(6)])

    assert math.isclose(centre, 3.0)
    assert math.isclose(error, math.sqrt(14 / 3 / 4))


def test_one_launch_has_a_centre_and_no_error() -> None:
    centre, error = log_mean([2.0])

    assert centre == math.log(2.0)
    assert math.isnan(error)
    assert launch_interval([2.0])[0] == pytest.approx(2.0)
    assert all(math.isnan(bound) for bound in launch_interval([2.0])[1:])


@given(many_times, many_times)
def test_swapping_the_runs_inverts_the_interval(first: list[float], second: list[float]) -> None:
    low, high = ratio_interval(first, second, 0.95)
    swapped_low, swapped_high = ratio_interval(second, first, 0.95)

    assert math.isclose(low * swapped_high, 1, rel_tol=1e-9)
    assert math.isclose(high * swapped_low, 1, rel_tol=1e-9)


@given(many_times, st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_of_time_does_not_matter(values: list[float], unit: float) -> None:
    other = values[::-1]
    here = ratio_interval(values, other, 0.9)
    there = ratio_interval([unit * value for value in values], [unit * v for v in other], 0.9)

    assert np.allclose(here, there, rtol=1e-6)


@pytest.mark.parametrize("shape", ["lognormal", "spikes"])
@pytest.mark.parametrize("count", [10, 40, 200])
def test_the_95_percent_interval_covers_at_least_93_percent(shape: str, count: int) -> None:
    source = np.random.default_rng(7)
    trials, covered, true_ratio = 1500, 0, 1.1
    for _ in range(trials):
        first, second = source.lognormal(0, 0.3, (2, count))
        if shape == "spikes":
            first[source.random(count) < 0.02] *= 20
            second[source.random(count) < 0.02] *= 20
        low, high = ratio_interval(list(first), list(true_ratio * second), 0.95)
        covered += low <= true_ratio <= high

    assert covered / trials >= 0.93


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 10, []])
def test_too_few_or_zero_times_give_no_interval(values: list[float]) -> None:
    assert all(math.isnan(bound) for bound in ratio_interval(values, [1.0] * 10, 0.95))


def test_equal_constant_times_are_not_different() -> None:
    assert rank_sum([2.0] * 10, [2.0] * 10) == 1.0


def test_too_few_samples_have_no_interval() -> None:
    assert np.isnan(median_interval([1.0, 2.0, 3.0])[0])


def test_the_interval_of_a_median_is_of_two_samples() -> None:
    assert median_interval(range(1, 11)) == (2, 9)


def test_holm_rejects_as_his_procedure_says() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert holm([], 0.05) == []
    assert holm([0.05], 0.05) == [True]
    assert holm([0.03, 0.03], 0.05) == [False, False], "0.03 is above half of 0.05"


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_rejects_no_less_than_bonferroni_and_the_least_p_values_first(
    p_values: list[float],
) -> None:
    rejected = holm(p_values, 0.05)

    for p_value, wrong in zip(p_values, rejected, strict=True):
        assert wrong or p_value > 0.05 / len(p_values)
    accepted = [p for p, wrong in zip(p_values, rejected, strict=True) if not wrong]
    refused = [p for p, wrong in zip(p_values, rejected, strict=True) if wrong]
    assert not accepted or not refused or max(refused) <= min(accepted)


def test_the_p_value_of_ratios_below_a_bound_is_students() -> None:
    # t = -2 with 4 degrees of freedom: 0.0581 of the distribution lies below.
    logs = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    shift = 2 * float(np.std(logs, ddof=1)) / math.sqrt(5)
    ratios = [math.exp(value - shift) for value in logs]

    assert p_value_below(ratios, 1.0) == pytest.approx(0.0581, abs=1e-4)
    assert p_value_below([0.5], 1.0) == 1.0
    assert p_value_below([0.5, 0.5], 1.0) == 0.0
    assert p_value_below([1.0, 1.0], 1.0) == 1.0


def test_one_odd_launch_in_ten_at_either_end_does_not_decide() -> None:
    ratios = [0.80, 0.81, 0.79, 0.80, 0.82, 0.78, 0.81, 0.80, 0.79, 0.80]
    odd = [5.0, 0.01, *ratios[2:]]

    centre, low, high = trimmed_ratio(odd)

    assert centre == pytest.approx(0.80, abs=0.01)
    assert 0.75 < low < centre < high < 0.85
    assert p_value_below(odd, 0.9) < 1e-4
    assert p_value_below([5.0, *ratios[1:9]], 0.9) > 0.1, "of nine launches, none is left out"


def test_a_trimmed_mean_below_a_bound_is_seldom_seen_where_it_is_at_the_bound() -> None:
    source = np.random.default_rng(7)
    trials, wrong = 4000, {"normal": 0, "odd": 0}
    for _ in range(trials):
        logs = source.normal(0, 0.05, 30)
        wrong["normal"] += p_value_below(list(np.exp(logs)), 1.0) < 0.01
        odd = source.random(30) < 0.05
        sides = source.choice([-0.3, 0.3], 30)
        wrong["odd"] += p_value_below(list(np.exp(logs + odd * sides)), 1.0) < 0.01

    # 40 are expected of a test that is exact; more than 60 come about once in a thousand times.
    assert max(wrong.values()) <= 60


def test_launches_of_two_kinds_differ_by_no_noise_where_there_are_fifteen_of_each() -> None:
    ratios = [0.65, 0.96, 0.64, 0.95, 0.66, 0.97] * 5
    kinds = [1, 0] * 15

    centre, low, high = trimmed_ratio(ratios, strata=kinds)

    assert centre == pytest.approx(math.sqrt(0.65 * 0.96), rel=1e-3)
    assert 0.99 * centre < low < high < 1.01 * centre
    assert p_value_below(ratios, 0.9, kinds) < 1e-20 < p_value_below(ratios, 0.9)
    fewer = slice(1, None)
    assert p_value_below(ratios[fewer], 0.9, kinds[fewer]) == p_value_below(ratios[fewer], 0.9)
    assert p_value_below(ratios, 0.9, [0] * 30) == p_value_below(ratios, 0.9)
    assert p_value_below([0.8, 1.0] * 15, 0.9, kinds) == 0.0


def test_a_mean_of_two_kinds_below_a_bound_is_seldom_seen_where_it_is_at_the_bound() -> None:
    source = np.random.default_rng(7)
    kinds = [0, 1] * 15
    trials, wrong = 4000, {1.0: 0, 5.0: 0}
    for _ in range(trials):
        for times in wrong:
            logs = source.normal([0.2, -0.2] * 15, [0.05, 0.05 * times] * 15)
            wrong[times] += p_value_below(list(np.exp(logs)), 1.0, kinds) < 0.01

    # 40 are expected of a test that is exact; more than 60 come about once in a thousand times.
    assert max(wrong.values()) <= 60
    assert min(wrong.values()) >= 20
