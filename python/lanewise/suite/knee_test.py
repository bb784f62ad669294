# SPDX-License-Identifier: BSD-3-Clause
"""The knee, where the truth is known."""

import numpy as np
import pytest

from lanewise.results.records import Waiting
from lanewise.suite.knee import fit_knee, host_costs

AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def loops(base_s: float, overhead_s: float, noise: float = 0.0) -> tuple[list[float], list[float]]:
    """Return work and loop times of a host that costs `overhead_s`."""
    source = np.random.default_rng(4)
    work = [amount * base_s for amount in AMOUNTS]
    loop = [max(base_s, w + overhead_s) * source.lognormal(0, noise) for w in work]
    return work, loop


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 1.0])
def test_the_knee_is_found_where_it_is(share: float) -> None:
    knee = fit_knee(*loops(1e-4, share * 1e-4))

    assert knee.overhead_s == pytest.approx(share * 1e-4, rel=1e-9)
    assert knee.availability == pytest.approx(1 - share, abs=1e-9)


def test_the_knee_stands_noise_of_three_percent() -> None:
    knee = fit_knee(*loops(1e-4, 3e-5, noise=0.03))

    assert knee.availability == pytest.approx(0.7, abs=0.1)


def test_a_transfer_that_waits_for_the_call_has_no_progress() -> None:
    work, loop = loops(1e-4, 1e-4)
    records = [
        Waiting(1 << 20, amount, (w,), (total,), (1e-6,), (1e-4,))
        for amount, w, total in zip(AMOUNTS, work, loop, strict=True)
    ]

    assert host_costs(records)[0].progress == 0.0


def test_work_that_runs_beside_the_transfer_is_hidden() -> None:
    work, loop = loops(1e-4, 0.0)
    records = [
        Waiting(1 << 20, amount, (w,), (total,), (1e-6,), (1e-6,))
        for amount, w, total in zip(AMOUNTS, work, loop, strict=True)
    ]

    assert host_costs(records)[0].overlap == pytest.approx(1.0)


def test_work_that_waits_for_the_transfer_is_not_hidden() -> None:
    work, loop = loops(1e-4, 1e-4)
    records = [
        Waiting(1 << 20, amount, (w,), (total,), (1e-6,), (1e-4,))
        for amount, w, total in zip(AMOUNTS, work, loop, strict=True)
    ]

    assert host_costs(records)[0].overlap == pytest.approx(0.0)


def test_a_transfer_that_is_over_before_the_wait_has_progress() -> None:
    records = [
        Waiting(8, amount, (amount * 1e-5,), (1e-5,), (1e-6,), (1e-5 if amount == 0 else 1e-7,))
        for amount in AMOUNTS
    ]

    assert host_costs(records)[0].progress == pytest.approx(0.99)
