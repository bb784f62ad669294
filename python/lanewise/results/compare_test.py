# SPDX-License-Identifier: BSD-3-Clause
"""Comparing runs: intervals cover, tests see what is there, and nothing is claimed without data."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.results import specimen
from lanewise.results.compare import Ratio, compare
from lanewise.results.read import Samples, load


def slower(ratios: list[Ratio], limit: float) -> list[Ratio]:
    """Return the points whose whole interval lies above the limit."""
    return [ratio for ratio in ratios if ratio.low > 1 + limit]


def run_of(path: Path, **named: Any) -> Samples:
    make = specimen.launched_records if "launches" in named else specimen.records
    return load(specimen.write(path, make(**named)))


def test_a_run_against_itself_has_ratio_one_everywhere(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a.jsonl")

    found = compare(run, run)

    assert all(ratio.ratio == 1 and ratio.low <= 1 <= ratio.high for ratio in found.ratios)
    assert math.isnan(found.overall[0].p_value)


def test_a_slower_run_is_seen_at_each_size_and_over_all(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", seed=1)
    second = run_of(tmp_path / "b.jsonl", seed=2, slowdown=1.2)

    found = compare(first, second)

    assert len(slower(found.ratios, 0.05)) == 8
    assert math.isclose(found.overall[0].ratio, 1.2, rel_tol=0.02)
    assert math.isnan(found.overall[0].p_value)


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


def test_launches_that_differ_among_themselves_are_not_called_slower(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", seed=1, launches=4, spread=0.3)
    second = run_of(tmp_path / "b.jsonl", seed=2, launches=4, spread=0.3)

    found = compare(first, second)

    assert all(ratio.low < 1 < ratio.high for ratio in found.ratios)
    # All sizes of a launch are slower or faster with it.
    assert found.overall[0].p_value > 0.1
    assert {ratio.test for ratio in found.ratios} == {"Welch"}
    assert found.notes == []


def test_a_slower_run_is_seen_over_launches(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", seed=1, launches=4, spread=0.01)
    second = run_of(tmp_path / "b.jsonl", seed=2, launches=4, spread=0.01, slowdown=1.2)

    found = compare(first, second)

    assert len(slower(found.ratios, 0.05)) == 8
    assert found.overall[0].p_value < 1e-3


def test_over_sizes_a_launch_that_lacks_one_does_not_count(tmp_path: Path) -> None:
    whole = run_of(tmp_path / "a.jsonl", launches=3, spread=0.05)
    lines = specimen.launched_records(launches=3, spread=0.05, seed=2)
    some = load(specimen.write(tmp_path / "b.jsonl", [*lines[:-2], lines[-1]]))
    two = load(specimen.write(tmp_path / "c.jsonl", [*lines[:17], lines[-1]]))

    assert compare(whole, some).overall[0].p_value == compare(whole, two).overall[0].p_value < 1


def test_ratios_of_single_launches_are_noted_as_such(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a.jsonl", launches=3)
    second = run_of(tmp_path / "b.jsonl", launches=1)

    assert "8 of 8 ratios are of single launches" in compare(first, second).notes[0]


def skewed_run(path: Path, sigma: float, launches: int) -> Samples:
    """Return a run by --rule student, whose means are above its medians."""
    source = np.random.default_rng(int(10 * sigma))
    stopping = {**specimen.context_record()["stopping"], "rule": "student"}
    points = [
        specimen.point_record("bcast", 8, 1e-6 * source.lognormal(0, sigma, 400), launch=launch)
        for launch in range(1, launches + 1)
    ]
    context = specimen.context_record(stopping=stopping, launches=launches)
    return load(specimen.write(path, [context, *points]))


def test_by_students_rule_means_are_compared_with_means(tmp_path: Path) -> None:
    wide = skewed_run(tmp_path / "a.jsonl", 1.2, launches=5)
    narrow = skewed_run(tmp_path / "b.jsonl", 0.1, launches=5)

    found = compare(wide, narrow)

    (ratio,) = found.ratios
    assert ratio.ratio == pytest.approx(narrow.points[0].mean_s / wide.points[0].mean_s)
    assert ratio.low < ratio.ratio < ratio.high < 0.6
    assert found.numbers == ("mean", "mean")


def test_a_ratio_lies_in_its_interval_where_one_side_has_one_launch(tmp_path: Path) -> None:
    several = run_of(tmp_path / "a.jsonl", seed=1, launches=5, spread=0.5)
    one = run_of(tmp_path / "b.jsonl", seed=2, launches=1)
    skewed = skewed_run(tmp_path / "c.jsonl", 1.2, launches=1)
    narrow = skewed_run(tmp_path / "d.jsonl", 0.1, launches=1)

    student = skewed_run(tmp_path / "e.jsonl", 0.1, launches=5)

    assert compare(skewed, student).numbers == ("median", "median")
    for ratio in compare(several, one).ratios + compare(skewed, narrow).ratios:
        assert ratio.low <= ratio.ratio <= ratio.high


def test_a_launch_without_a_time_is_not_taken_for_launches_that_are_alike(tmp_path: Path) -> None:
    records = specimen.launched_records(launches=3, operations=("bcast",), sizes_bytes=[8])
    points = [record for record in records if record.get("record") == "point"]
    points[0] |= {"median_s": 0.0, "mean_s": 0.0, "samples_s": [0.0]}
    run = load(specimen.write(tmp_path / "a", records))

    found = compare(run, run)

    assert math.isnan(found.ratios[0].low)
    assert not any("the same time on their side" in note for note in found.notes)


def of_times(path: Path, times_s: Iterable[float]) -> Samples:
    """Return a run of one launch with these times at a single point."""
    point = specimen.point_record("bcast", 8, times_s)
    return load(specimen.write(path, [specimen.context_record(), point]))


@pytest.mark.parametrize(
    ("first_us", "second_us", "ratio"),
    [
        ([1.0] * 40, [1.1] * 40, 1.1),
        ([1.0] * 40 + [2.0] * 4, [1.1] * 40 + [2.0] * 4, 1.1),
        ([1.0] * 40 + [3.0] * 10, [1.0] * 50, 1.0),
    ],
    ids=["all alike", "most alike", "equal medians"],
)
def test_repetitions_of_which_most_are_alike_give_a_ratio_without_an_interval_and_a_test(
    first_us: list[float], second_us: list[float], ratio: float, tmp_path: Path
) -> None:
    first = of_times(tmp_path / "a", [1e-6 * time for time in first_us])
    second = of_times(tmp_path / "b", [1e-6 * time for time in second_us])

    found = compare(first, second)

    assert found.ratios[0].ratio == pytest.approx(ratio)
    assert math.isnan(found.ratios[0].low)
    assert math.isnan(found.ratios[0].high)
    assert math.isnan(found.ratios[0].p_value)
    assert found.notes[-1] == (
        "1 of 1 ratios are of single launches in which more than half of the times of a side are "
        "alike, to the last digit: they have no interval and no test"
    )


def test_a_clock_that_is_alike_around_the_median_alone_leaves_the_test(tmp_path: Path) -> None:
    source = np.random.default_rng(1)
    first = of_times(tmp_path / "a", 1e-6 * source.normal(10, 2.5, 1000).round().clip(1))
    second = of_times(tmp_path / "b", 1e-6 * source.normal(12, 2.5, 1000).round().clip(1))

    found = compare(first, second)

    assert found.ratios[0].ratio == pytest.approx(1.2)
    assert math.isnan(found.ratios[0].low)
    assert found.ratios[0].p_value < 1e-20
    assert found.notes[-1] == (
        "1 of 1 ratios are of single launches whose times around the median are all alike, to the "
        "last digit: they have no interval; measure both with --launches 5"
    )


def test_repetitions_that_all_have_one_time_on_both_sides_have_ratio_one(tmp_path: Path) -> None:
    run = of_times(tmp_path / "a", [1e-6] * 40)

    found = compare(run, run)

    (ratio,) = found.ratios
    assert (ratio.low, ratio.ratio, ratio.high, ratio.p_value) == (1, 1, 1, 1)


def test_a_point_whose_repetitions_were_all_late_is_told(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("median_s", "low_s", "high_s", "mean_s"))
    records = specimen.records(sizes_bytes=[8, 16])
    late = {**specimen.point_record("scatter", 8, [1e-6]), **nothing, "samples_s": []}
    whole = load(specimen.write(tmp_path / "a", records))
    lacking = load(specimen.write(tmp_path / "b", [records[0], late, *records[2:]]))

    found = compare(whole, lacking)

    assert found.notes[-1] == (
        "1 of 2 ratios (scatter 8 B) are of points that have no time on a side, since all of their "
        "repetitions were late"
    )


def test_a_run_that_was_interrupted_is_told(tmp_path: Path) -> None:
    whole = run_of(tmp_path / "a.jsonl")
    stopped = load(specimen.write(tmp_path / "b.jsonl", specimen.records()[:-2]))

    found = [note for note in compare(whole, stopped).notes if "interrupted" in note]

    assert len(found) == 1
    assert f"{tmp_path / 'b.jsonl'}: the run was interrupted after 7 points" in found[0]


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
