# SPDX-License-Identifier: BSD-3-Clause
"""What Opt_Scatter picks, and how it is judged, from times made up."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.opt_scatter.experiment import (
    Measured,
    Times,
    costs,
    picks,
    point_of,
    worst_by_launch,
)

CANDIDATES = ["mpi", "linear", "binomial"]


def _launch(*times_s: float) -> Times:
    """Return two equal rounds, in each of which the candidates take these times."""
    return np.array([times_s, times_s])


def test_at_a_measured_size_the_fastest_is_picked() -> None:
    timed = Measured(CANDIDATES, {4: [_launch(3, 2, 4)], 8: [_launch(3, 5, 4)]})

    assert picks(timed, [4, 8]) == {4: "linear", 8: "mpi"}


def test_between_two_sizes_the_one_is_picked_that_is_far_from_the_best_at_neither() -> None:
    timed = Measured(CANDIDATES, {4: [_launch(11, 10, 50)], 8: [_launch(11, 50, 10)]})

    assert picks(timed, [6]) == {6: "mpi"}


def test_beyond_what_was_measured_the_nearest_size_counts() -> None:
    timed = Measured(CANDIDATES, {4: [_launch(3, 2, 4)], 8: [_launch(3, 5, 4)]})

    assert picks(timed, [1, 100]) == {1: "linear", 100: "mpi"}


def test_candidates_are_compared_turn_by_turn_so_a_slow_launch_is_only_one_of_them() -> None:
    launches = [_launch(2, 1), _launch(2, 3), _launch(300, 299)]

    mpi, linear = costs(launches, 2)

    assert linear < mpi


def test_opt_scatter_is_not_among_the_candidates_it_is_compared_with() -> None:
    judged = Measured(CANDIDATES, {4: [_launch(4, 2, 5, 1)]})

    point = point_of(judged, 4, "linear")

    assert point["best"] == "linear"
    assert point["candidates_s"] == {"mpi": 4, "linear": 2, "binomial": 5}


def test_the_ratio_is_of_all_turns_and_its_interval_of_launches() -> None:
    launches = [_launch(4, 2, 5, 2.2), _launch(4, 2, 5, 2.4), _launch(4, 2, 5, 2.0)]

    point = point_of(Measured(CANDIDATES, {4: launches}), 4, "linear")

    assert point["to_best"].pop("launches") == pytest.approx([1.1, 1.2, 1.0])
    assert point["to_best"] == pytest.approx({"ratio": 1.1, "low": 1.0, "high": 1.2})

    assert point["over_default"]["ratio"] == pytest.approx(4 / 2.2)


def test_each_launch_has_the_ratio_of_its_own_worst_size() -> None:
    points = [{"to_best": {"launches": each}} for each in ([1.1, 1.0], [1.05, 1.2])]

    assert worst_by_launch(points) == [1.1, 1.2]
