# SPDX-License-Identifier: BSD-3-Clause
"""Comparing runs: intervals cover, tests see what is there, and nothing is claimed without data."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.results.compare import compare, rank_sum, ratio_interval, slower
from lanewise.results.read import Samples, load

many_times = st.lists(st.floats(min_value=1e-7, max_value=1e-1), min_size=6, max_size=40)


def run_of(path: Path, **named: Any) -> Samples:
    return load(specimen.write(path, specimen.records(**named)))


@given(many_times, many_times)
def test_the_interval_holds_the_ratio(first: list[float], second: list[float]) -> None:
    low, high = ratio_interval(first, second, 0.95)

    ratio = float(np.median(second)) / float(np.median(first))
    assert low <= ratio * (1 + 1e-9)
    assert ratio <= high * (1 + 1e-9)


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


def test_a_run_against_itself_has_ratio_one_everywhere(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a.jsonl")

    found = compare(run, run)

    assert all(ratio.ratio == 1 and ratio.low <= 1 <= ratio.high for ratio in found.ratios)
    assert found.overall[0].p_value == 1


def test_a_slower_run_is_seen_at_each_size_and_over_all(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", seed=1)
    second = run_of(tmp_path / "b.jsonl", seed=2, slowdown=1.2)

    found = compare(first, second)

    assert len(slower(found.ratios, 0.05)) == 8
    assert math.isclose(found.overall[0].ratio, 1.2, rel_tol=0.02)
    assert found.overall[0].p_value < 0.05


def test_slower_within_the_limit_is_not_slower(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", seed=1)
    second = run_of(tmp_path / "b.jsonl", seed=2, slowdown=1.03)

    assert slower(compare(first, second).ratios, 0.05) == []


def test_a_slower_median_with_a_wide_interval_is_not_called_slower(tmp_path: Path) -> None:
    context = specimen.context_record()
    calm = specimen.point_record("scatter", 8, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    wild = specimen.point_record("scatter", 8, [0.5, 0.6, 0.9, 1.3, 2.0, 3.0])
    first = load(specimen.write(tmp_path / "a.jsonl", [context, calm]))
    second = load(specimen.write(tmp_path / "b.jsonl", [context, wild]))

    found = compare(first, second)

    assert found.ratios[0].ratio > 1.05
    assert slower(found.ratios, 0.05) == []


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 10, []])
def test_too_few_or_zero_times_give_no_interval(values: list[float]) -> None:
    assert all(math.isnan(bound) for bound in ratio_interval(values, [1.0] * 10, 0.95))


def test_equal_constant_times_are_not_different() -> None:
    assert rank_sum([2.0] * 10, [2.0] * 10) == 1.0


def test_points_of_one_run_only_are_counted(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", sizes_bytes=[8, 16, 32])
    second = run_of(tmp_path / "b.jsonl", sizes_bytes=[16, 64])

    found = compare(first, second)

    assert (len(found.ratios), found.only_first, found.only_second) == (1, 2, 1)


def test_runs_on_other_numbers_of_ranks_have_nothing_in_common(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl")
    second = run_of(tmp_path / "b.jsonl", context={"ranks": 8})

    with pytest.raises(RequestError, match="no point in common"):
        compare(first, second)


def test_pairs_are_compared_pair_by_pair(tmp_path: Path) -> None:
    lines = [
        specimen.point_record("pairs", 8, [1e-6 * (peer + 1)] * 10, peer=peer, reply_bytes=8)
        for peer in (1, 2)
    ]
    path = specimen.write(tmp_path / "pairs.jsonl", [specimen.context_record(), *lines])

    found = compare(load(path), load(path))

    assert [ratio.label for ratio in found.ratios] == ["0-1", "0-2"]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 95.0])
def test_a_confidence_outside_its_range_is_refused(tmp_path: Path, confidence: float) -> None:
    run = run_of(tmp_path / "a.jsonl")

    with pytest.raises(RequestError, match="not between 0 and 1"):
        compare(run, run, confidence)
