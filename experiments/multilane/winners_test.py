# SPDX-License-Identifier: BSD-3-Clause
"""Winners are the fastest ways, with the default where nothing is faster by the margin."""

from __future__ import annotations

import pytest

from experiments.multilane.winner_map_picture import fields_of, points_of
from experiments.multilane.winners import Point, fastest, figures_of, lanes_of, lanes_way

LANES = "multilane:0:4"


def point(measured_s: dict[str, float], predicted_s: dict[str, float]) -> Point:
    return Point("scatter", 0.25, 0.01, "64 KiB", measured_s, predicted_s)


def test_a_way_has_the_lanes_that_its_name_says() -> None:
    assert [lanes_of(way) for way in ("default", lanes_way(1), lanes_way(4))] == [0, 1, 4]


def test_the_default_wins_where_nothing_is_faster_by_the_margin() -> None:
    for default_s, one_lane_s, lanes_s, winner in (
        (1.0, 1.0, 0.98, "default"),
        (1.0, 1.0, 0.96, LANES),
        (1.0, 0.9, 0.89, "single_lane"),
        (0.5, 1.0, 0.9, "default"),
    ):
        times_s = {LANES: lanes_s, "default": default_s, "single_lane": one_lane_s}
        assert fastest(times_s) == winner


def test_a_choice_is_good_that_loses_at_most_a_twentieth() -> None:
    predicted_s = {"default": 2.0, "single_lane": 2.0, LANES: 1.0}

    for default_s, is_good in ((1.2, True), (0.96, True), (0.9, False)):
        one = point({"default": default_s, "single_lane": 2.0, LANES: 1.0}, predicted_s)
        assert one.chosen == LANES
        assert one.is_good == is_good


def test_the_figures_are_those_of_all_points() -> None:
    predicted_s = {"default": 2.0, "single_lane": 2.0, LANES: 1.0}
    points = [
        point({"default": default_s, "single_lane": 2.0, LANES: 1.0}, predicted_s)
        for default_s in (1.5, 1.5, 0.8, 0.5)
    ]

    figures = figures_of(points)

    assert figures == {
        "good_choices_percent": 50,
        "chosen_over_best_median": pytest.approx((1 + 1 / 0.8) / 2),
        "chosen_over_best_worst": 2.0,
        "points": 4,
        "default_wins": 2,
        "one_lane_wins": 0,
        "lanes_win": 2,
    }


def test_a_kept_point_is_the_point() -> None:
    one = point({"default": 1.25, "single_lane": 2.0}, {"default": 1.5, "single_lane": 1.75})

    assert points_of({"conditions": {"points": [one.kept()]}}) == [one]


def test_a_field_names_the_winner_and_what_the_default_takes_or_the_next() -> None:
    predicted_s = {"default": 2.0, "single_lane": 2.0, LANES: 1.0}
    for default_s, text, is_good in ((1.5, "4\n1.5", True), (0.5, "default\n2", False)):
        one = point({"default": default_s, "single_lane": 3.0, LANES: 1.0}, predicted_s)

        (field,) = fields_of([one])

        assert (field.text, field.is_good) == (text, is_good)
