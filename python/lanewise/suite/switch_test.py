# SPDX-License-Identifier: BSD-3-Clause
"""Protocol switches, where the truth is known."""

import numpy as np
import pytest

from lanewise.suite.switch import switches

SIZES = [2**power for power in range(3, 23)]


def times(switch_bytes: int, handshake_s: float, noise: float = 0.0) -> list[float]:
    """Return the times of messages that take a handshake from `switch_bytes` on."""
    source = np.random.default_rng(7)
    return [
        (1e-6 + size / 5e9 + (handshake_s if size >= switch_bytes else 0.0))
        * float(source.lognormal(0, noise))
        for size in SIZES
    ]


@pytest.mark.parametrize("switch_bytes", [256, 4096, 65536])
def test_a_handshake_is_found_between_the_sizes_around_it(switch_bytes: int) -> None:
    found = switches(SIZES, times(switch_bytes, 1e-5))

    assert [(cut.below_bytes, cut.above_bytes) for cut in found] == [
        (switch_bytes // 2, switch_bytes)
    ]
    assert found[0].jump > 1.5


def test_one_line_has_no_switch() -> None:
    assert switches(SIZES, times(1 << 40, 0.0)) == []


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_makes_no_switch(seed: int) -> None:
    source = np.random.default_rng(seed)
    noisy = [(1e-6 + size / 5e9) * float(source.lognormal(0, 0.05)) for size in SIZES]

    assert switches(SIZES, noisy, noise=0.05) == []


def test_a_switch_stands_out_of_noise() -> None:
    found = switches(SIZES, times(8192, 1e-5, noise=0.05), noise=0.05)

    assert [cut.above_bytes for cut in found] == [8192]


def test_few_points_have_no_switch() -> None:
    assert switches(SIZES[:5], times(64, 1e-5)[:5]) == []
