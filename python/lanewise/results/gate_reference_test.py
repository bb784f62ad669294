# SPDX-License-Identifier: BSD-3-Clause
"""The reference: a launch is compared with those that are like it, and with nothing else."""

import tracemalloc

import numpy as np
import pytest

from lanewise.results.gate_reference import (
    ALIKE,
    likeness,
    local_centres,
    local_medians,
    slowdowns,
    without,
)


def test_a_median_weighs_each_time() -> None:
    times = np.array([5.0, 1.0, 3.0])
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [3.0, 1.0, 1.0]])

    assert local_medians(times, weights) == pytest.approx([3.0, 1.0, 5.0])


def test_a_centre_lies_half_way_between_two_sides() -> None:
    times = np.array([0.0, 0.1, 5.0, 5.1])
    weights = np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])

    assert local_centres(times, weights) == pytest.approx([2.6, 2.5, 0.05], abs=0.06)


def test_a_launch_does_not_count_for_itself_and_the_nearest_counts_whole() -> None:
    references = np.array([[0.0], [ALIKE], [10.0]])

    weights = likeness(references)

    assert np.diag(weights) == pytest.approx([0.0, 0.0, 0.0])
    assert weights[0, 1] == weights[2, 1] == 1.0
    assert weights[0, 2] == pytest.approx(0.0, abs=1e-9)


def test_launches_are_alike_in_all_sizes_of_the_reference() -> None:
    references = np.array([[0.0, 0.0], [0.0, 2 * ALIKE], [ALIKE, 0.0]])

    weights = likeness(references)

    assert weights[0, 1] == pytest.approx(np.exp(-0.5))
    assert weights[0, 2] == 1.0


def test_states_of_the_machine_are_taken_off_whatever_they_do_to_a_time() -> None:
    source = np.random.default_rng(1)
    state = source.integers(0, 3, size=90)
    references = np.array([0.0, 0.9, 2.0])[state][:, None]
    times = np.array([0.0, 1.3, 0.4])[state] + source.normal(0, 0.01, size=90)

    left = without(times[:, None], references)

    assert np.ptp(times) > 1
    assert np.ptp(left) < 0.1


def test_a_reference_that_is_always_the_same_keeps_the_order_of_launches() -> None:
    logs = np.random.default_rng(3).normal(size=(20, 2))

    left = without(logs, np.zeros((20, 3)))

    assert (left.argsort(axis=0) == logs.argsort(axis=0)).all()


def test_a_slowdown_of_half_of_the_launches_stays() -> None:
    source = np.random.default_rng(4)
    references = source.normal(0, 0.2, size=(80, 1))
    slower = np.arange(80) % 2 == 1
    times = references[:, 0] + 0.1 * slower + source.normal(0, 0.01, size=80)

    left = without(times[:, None], references)[:, 0]

    assert np.median(left[slower]) - np.median(left[~slower]) == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("slower_by", [1.0, 1.05, 1.3, 2.0, 4.0])
@pytest.mark.parametrize("states", [1, 2, 3])
def test_a_slowdown_is_neither_doubled_nor_lost(slower_by: float, states: int) -> None:
    source = np.random.default_rng(5)
    found, left = [], []
    for _ in range(60):
        state = source.integers(0, states, size=20)
        references = (0.7 * state + source.normal(0, 0.02, size=20))[:, None]
        slower = source.permutation(np.arange(20) % 2 == 1)
        times = 0.9 * state + np.log(slower_by) * slower + source.normal(0, 0.02, size=20)
        found += list(np.exp(slowdowns(times[:, None], references, slower)))
        rest = without(times[:, None], references)[:, 0]
        left.append(np.exp(np.median(rest[slower]) - np.median(rest[~slower])))

    assert np.median(found) == pytest.approx(slower_by, rel=0.01)
    assert np.quantile(found, [0.05, 0.95]) == pytest.approx([slower_by] * 2, rel=0.04)
    assert np.median(left) == pytest.approx(slower_by, rel=0.08)


def test_many_launches_take_little_memory() -> None:
    times = np.random.default_rng(2).normal(0, 0.1, 360)
    weights = likeness(times[:, None])

    tracemalloc.start()
    centres = local_centres(times, weights)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak_bytes < 200e6
    assert centres[[0, 359]] == pytest.approx(local_centres(times, weights[[0, 359]]))
