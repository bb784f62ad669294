# SPDX-License-Identifier: BSD-3-Clause
"""The reference: a launch is compared with those that are like it, and with nothing else."""

import numpy as np
import pytest

from lanewise.results.gate_reference import ALIKE, likeness, local_medians, without


def test_a_median_weighs_each_time() -> None:
    times = np.array([5.0, 1.0, 3.0])
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [3.0, 1.0, 1.0]])

    assert local_medians(times, weights) == pytest.approx([3.0, 1.0, 5.0])


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
