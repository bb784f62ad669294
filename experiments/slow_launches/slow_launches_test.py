# SPDX-License-Identifier: BSD-3-Clause
"""How launches are grouped and explained, from launches made up."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.slow_launches import experiment
from experiments.slow_launches.experiment import Launch

PLACES = range(len(experiment.SIZES))


def launch(
    *rounds: list[float], trips_ns: tuple[float, float] = (90.0, 95.0), way: str = "plain"
) -> Launch:
    """Return a launch with these rounds at every size."""
    return Launch(way, trips_ns, [np.array(rounds) for _ in PLACES], [])


USUAL = launch([2.0, 2.0], [2.0, 2.0], [2.0, 2.0], [2.0, 2.0])
FAR = launch([6.0, 6.0], [6.0, 6.0], trips_ns=(420.0, 430.0))


@pytest.mark.parametrize(
    ("trips_ns", "group"),
    [((90, 95), "together"), ((420, 430), "apart"), ((90, 430), "moved"), ((430, 90), "moved")],
)
def test_a_launch_is_grouped_by_the_trips_around_it(
    trips_ns: tuple[float, float], group: str
) -> None:
    assert experiment.group_of(launch([1.0], trips_ns=trips_ns), limit_ns=270) == group


def test_slow_launches_are_counted_in_their_groups() -> None:
    groups = {"together": [USUAL] * 3, "apart": [FAR], "moved": []}

    figures = experiment.figures_of_distance(groups, 4)

    assert figures["apart_percent"] == figures["slow_percent"] == 25
    assert figures["slow_apart_percent"] == 100
    assert figures["slow_together_percent"] == 0
    assert figures["apart_over_together"] == 3
    assert (figures["trip_together_ns"], figures["trip_apart_ns"]) == (92.5, 425)


def test_a_candidate_is_off_only_if_both_halves_of_the_launch_are() -> None:
    usual = np.array([1.0, 1.0])
    whole = launch([2.2, 2.0], [2.2, 2.0], [2.2, 2.0], [2.2, 2.0])
    passing = launch([2.2, 2.0], [2.2, 2.0], [2.0, 2.0], [2.0, 2.0])

    assert experiment.is_off(whole, 0, usual)
    assert not experiment.is_off(passing, 0, usual)


def test_the_bit_that_explains_the_times_is_found_among_others() -> None:
    source = np.random.default_rng(1)
    bits = source.integers(0, 2, (200, 40)).astype(float)
    rows = [{f"bit {n}": int(bit) for n, bit in enumerate(row)} for row in bits]
    matrix = experiment.matrix_of(rows)

    assert experiment.strongest(matrix, bits[:, 7]) == pytest.approx(1)
    assert experiment.strongest(matrix, source.permutation(200)) < 0.35


def test_frames_of_shared_memory_are_told_apart_by_rank_and_not_by_job() -> None:
    mapped = {"at": 0x7F0000001000, "frames": [0b10]}
    layouts = [
        [
            {
                "rank": 0,
                "stack": 0,
                "maps": [{"name": f"/dev/shm/vader_segment.vm.{job}.1", **mapped}],
            }
        ]
        for job in ("0.ab", "0.cd")
    ]

    first, second = map(experiment.frame_bits, layouts)

    assert first == second
    assert first["0 vader_segment 1 0 1"] == 1
