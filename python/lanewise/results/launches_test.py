# SPDX-License-Identifier: BSD-3-Clause
"""Launches of a measurement become one point each, and what they hide within is not believed."""

import math
from pathlib import Path
from typing import Any

import pytest

from lanewise.results import specimen
from lanewise.results.launches import PointOverLaunches, over_launches
from lanewise.results.read import load
from lanewise.results.records import Point, parse_record

MEDIAN = {"rule": "median", "confidence": 0.95}


def point(samples_s: list[float], launch: int, **changes: Any) -> Point:
    values = specimen.point_record("bcast", 8, samples_s, launch=launch, **changes)
    del values["record"]
    return parse_record(Point, values)


def test_the_centre_is_the_geometric_mean_of_the_launches_medians() -> None:
    (merged,) = over_launches(
        [point([1e-6] * 3, 1), point([2e-6] * 5, 2), point([4e-6] * 4, 3)], MEDIAN
    )

    assert isinstance(merged, PointOverLaunches)
    assert merged.median_s == pytest.approx(2e-6)
    assert merged.launch_medians_s == (1e-6, 2e-6, 4e-6)
    assert (merged.launch_count, merged.repetitions, len(merged.samples_s)) == (3, 12, 12)


def test_the_interval_is_over_launches_however_many_repetitions_there_were() -> None:
    few = over_launches([point([1e-6] * 3, 1), point([2e-6] * 3, 2)], MEDIAN)[0]
    many = over_launches([point([1e-6] * 300, 1), point([2e-6] * 300, 2)], MEDIAN)[0]

    assert (few.low_s, few.high_s) == (many.low_s, many.high_s)
    # Student's quantile at one degree of freedom is 12.706, and the spread of the logarithms
    # 0.693 / sqrt(2) for each launch.
    assert few.high_s / few.median_s == pytest.approx(math.exp(12.7062 * math.log(2) / 2), rel=1e-4)


def test_a_point_of_one_launch_stays_as_it_is() -> None:
    alone = point([1e-6, 2e-6, 3e-6], 1)

    assert over_launches([alone], MEDIAN) == [alone]
    assert alone.launch_count == 1


def test_a_point_without_a_time_is_not_taken_for_one_of_which_a_tool_printed_the_mean() -> None:
    late = point([1e-6], 1, median_s=None, low_s=None, high_s=None, mean_s=None)
    printed = point([1e-6], 1, median_s=None, low_s=None, high_s=None)

    assert (late.number, printed.number) == ("median", "mean")


@pytest.mark.parametrize("launches", [1, 3])
def test_by_students_rule_the_centre_is_the_mean(launches: int) -> None:
    points = [point([1e-6, 1e-6, 4e-6], launch) for launch in range(1, launches + 1)]

    (by_student,) = over_launches(points, {"rule": "student", "confidence": 0.95})
    (by_median,) = over_launches(points, MEDIAN)

    assert by_student.centre_s == pytest.approx(2e-6)
    assert by_median.centre_s == pytest.approx(1e-6)


@pytest.mark.parametrize("limit", ["time_limit", "maximum"])
def test_a_limit_that_one_launch_reached_is_that_of_the_point(limit: str) -> None:
    (merged,) = over_launches(
        [
            point([1e-6] * 3, 1, stopped="interval"),
            point([1e-6] * 3, 2, stopped=limit),
            point([1e-6] * 3, 3, stopped="interval"),
        ],
        MEDIAN,
    )

    assert merged.stopped == limit


def test_with_the_rule_of_student_the_means_of_launches_count() -> None:
    (merged,) = over_launches(
        [point([1e-6, 1e-6, 4e-6], 1), point([1e-6, 1e-6, 4e-6], 2)],
        {"rule": "student", "confidence": 0.95},
    )

    assert isinstance(merged, PointOverLaunches)
    assert merged.launch_medians_s == pytest.approx((2e-6, 2e-6))
    assert (merged.mean_s, merged.median_s) == pytest.approx((2e-6, 1e-6))


def test_a_launch_that_took_no_time_at_all_is_no_error() -> None:
    (merged,) = over_launches([point([0.0] * 3, 1), point([2e-6] * 3, 2)], MEDIAN)

    assert merged.median_s == pytest.approx(1e-6)
    assert merged.low_s < 0 < merged.high_s


def test_pairs_are_kept_apart() -> None:
    records = [
        point([1e-6], launch, peer=peer, reply_bytes=8) for launch in (1, 2) for peer in (1, 2)
    ]

    assert [(one.peer, one.launch_count) for one in over_launches(records, MEDIAN)] == [
        (1, 2),
        (2, 2),
    ]


def test_a_file_gives_its_points_over_launches_and_those_of_each(tmp_path: Path) -> None:
    lines = specimen.launched_records(3, spread=0.1, sizes_bytes=(8, 16))
    samples = load(specimen.write(tmp_path / "s.jsonl", lines))

    assert [one.launch_count for one in samples.points] == [3, 3]
    assert [one.launch for one in samples.launch_points] == [1, 1, 2, 2, 3, 3]
    assert samples.launches == 3
    assert samples.warnings == []


def test_a_launch_without_a_time_does_not_count_beside_others() -> None:
    timeless = point([1e-6], 3, median_s=None, mean_s=None, low_s=None, high_s=None, late_count=7)

    (merged,) = over_launches([point([1e-6] * 3, 1), point([4e-6] * 3, 2), timeless], MEDIAN)

    assert isinstance(merged, PointOverLaunches)
    assert merged.launch_medians_s == (1e-6, 4e-6)
    assert merged.median_s == pytest.approx(2e-6)
    assert merged.late_count == 7


@pytest.mark.parametrize("launch_with", [1, 2])
def test_the_least_time_is_told_where_every_launch_has_one(launch_with: int) -> None:
    having = point([1e-6] * 3, launch_with, min_s=5e-7)

    (merged,) = over_launches([having, point([1e-6] * 3, 3 - launch_with)], MEDIAN)

    assert merged.min_s is None
