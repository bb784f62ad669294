# SPDX-License-Identifier: BSD-3-Clause
"""Which peer counts, the memory that all have, and that waves some rows apart leave the bits."""

from pathlib import Path

import numpy as np
import pytest

from experiments.wavefront.memmap_sweep import chained, sweep
from experiments.wavefront.peers import EXPERIMENT, OURS, WHOLE, Peer, best_peer, speedups
from lanewise.results.intervals import median_interval


def test_the_peer_whose_median_is_least_is_the_best() -> None:
    seconds = {OURS: [1.0, 1.0, 1.0], "slow": [5.0, 5.0, 1.0], "fast": [4.0, 2.0, 6.0]}

    assert best_peer(seconds) == "fast"


def test_the_best_peer_is_compared_round_by_round() -> None:
    seconds = {OURS: [1.0, 2.0, 0.5], "slow": [9.0, 9.0, 9.0], "fast": [3.0, 3.0, 3.0]}

    assert speedups(seconds) == [3.0, 1.5, 6.0]


def test_ours_is_never_the_best_of_its_peers() -> None:
    assert best_peer({OURS: [1.0], "slow": [5.0]}) == "slow"


def test_there_are_rounds_enough_for_an_interval_and_its_lower_end_is_judged() -> None:
    low, _ = median_interval([2.0] * (WHOLE.rounds - 1) + [1.4])

    assert not EXPERIMENT.targets["speedup_over_best_peer_low"].met_by(low)
    assert low == 1.4


def test_the_matrices_are_four_times_the_memory_that_a_sweep_may_have() -> None:
    assert 8 * 6 * WHOLE.side**2 == 4 * WHOLE.cap_bytes
    assert WHOLE.budget_bytes < WHOLE.cap_bytes


@pytest.mark.parametrize("waves", [1, 2, 3, 7])
def test_waves_that_go_together_leave_the_bits_of_one_after_the_other(waves: int) -> None:
    generator = np.random.default_rng(waves)
    matrices = [0.2 * generator.random((47, 9)) for _ in range(6)]
    expected = [matrix.copy() for matrix in matrices]

    chained(waves, *matrices)

    for _ in range(waves):
        sweep(*expected)
    assert matrices[0].tobytes() == expected[0].tobytes()


def test_a_program_that_knows_no_waves_is_not_told_any() -> None:
    assert Peer(("loop",), 4).words(Path("raw"), 8) == ["loop", "raw", "8", "4"]


def test_a_program_that_knows_waves_is_told_how_many() -> None:
    peer = Peer(("python", "sweep.py"), 64, waves=64)

    assert peer.words(Path("raw"), 8) == ["python", "sweep.py", "raw", "8", "64", "64"]
