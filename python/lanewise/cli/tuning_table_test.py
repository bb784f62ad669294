# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise tune` shows of lanes."""

from __future__ import annotations

import pytest

from lanewise.cli.tuning_table import over_lanes, show_lanes
from lanewise.tuning.content import Candidate, Choice, CollectiveTuning, Figures, Point, Rule
from lanewise.tuning.rule_text import algorithm_text


def took(median_s: float) -> Figures:
    return Figures(median_s, median_s, median_s, 20)


def candidate(algorithm: str, lanes: int, median_s: float) -> Candidate:
    return Candidate(Choice("lanewise", algorithm, 0, lanes), took(median_s))


POINT = Point(
    1 << 20,
    took(0.155),
    (
        candidate("binomial", 1, 0.3),
        candidate("single_lane", 1, 0.158),
        candidate("multilane", 2, 0.081),
        candidate("multilane", 4, 0.044),
    ),
)


def test_default_single_lane_and_lanes_stand_side_by_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_lanes("scatter", CollectiveTuning(points=(POINT,)))

    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["scatter", "default", "single", "lane", "2", "lanes", "4", "lanes"]
    assert row.split() == ["1", "MiB", "155", "ms", "158", "ms", "81.0", "ms", "44.0", "ms"]


def test_nothing_is_shown_of_lanes_within_a_site(capsys: pytest.CaptureFixture[str]) -> None:
    inside = Point(8, took(1e-6), (candidate("binomial", 1, 1e-6),))

    show_lanes("scatter", CollectiveTuning(points=(inside,)))

    assert over_lanes(inside) == {}
    assert capsys.readouterr().out == ""


def test_a_rule_names_its_lanes() -> None:
    assert algorithm_text(Rule(0, 8, "multilane", 0, 4)) == "multilane, 4 lanes"
    assert algorithm_text(Rule(0, 8, "binomial", 8192)) == "binomial (8 KiB)"
