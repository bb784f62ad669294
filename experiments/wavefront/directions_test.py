# SPDX-License-Identifier: BSD-3-Clause
"""The loop that the experiment compares bits with, and the ratios of its rounds."""

import numpy as np
import pytest

from experiments.wavefront.directions import RUNS, figures_by_round, peak_bytes, travel_times


@pytest.mark.parametrize(("up", "left"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_one_iteration_reaches_all_cells_ahead_of_a_source_in_its_corner(
    up: int, left: int
) -> None:
    times = np.full((12, 12), np.inf)
    times[10 if up else 1, 10 if left else 1] = 0.0

    with np.errstate(invalid="ignore"):
        travel_times(times, np.ones((12, 12)), up, left)

    assert np.isfinite(times[1:11, 1:11]).all()


def test_the_highest_peak_of_all_rounds_counts() -> None:
    ends = {name: [{"peak_memory_bytes": peak} for peak in (5, 9, 7)] for name in RUNS}

    assert peak_bytes(ends) == 9


def test_a_round_is_compared_with_itself() -> None:
    seconds = {name: [1.0, 4.0] for name in RUNS} | {
        "four directions": [1.5, 5.0],
        "four directions, SIMD": [2.0, 6.0],
    }

    assert figures_by_round(seconds)["fast_sweeping_over_one_direction"] == [1.5, 1.25]


def test_the_quickest_cycle_is_compared_with_the_quickest_run_in_one_direction() -> None:
    seconds = {name: [6.0, 6.0] for name in RUNS} | {
        "one direction": [4.0, 3.0],
        "one direction, SIMD": [2.0, 5.0],
        "four directions, SIMD": [3.0, 9.0],
    }

    by_round = figures_by_round(seconds)

    assert by_round["fast_sweeping_over_one_direction"] == [1.5, 2.0]
    assert by_round["fast_sweeping_over_row_by_row"] == [1.5, 2.0]
    assert by_round["simd_cycle_over_simd"] == [1.5, 1.8]
