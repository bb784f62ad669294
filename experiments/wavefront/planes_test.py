# SPDX-License-Identifier: BSD-3-Clause
"""A sweep of planes is compared with memory before and after it, and with the plain loops."""

from pathlib import Path

import numpy as np
import pytest

from experiments.wavefront import planes
from experiments.wavefront.planes import (
    QUICK,
    WHOLE,
    Measured,
    Scale,
    figures_of,
    room_in_memory,
    same_as_loops,
    sweep_by_loops,
)
from lanewise.errors import RunError

SCALE = Scale(sides=(10, 10, 10), waves=5, rounds=2)


def ended(user_s: float, peak_memory_bytes: int = 1) -> dict[str, float]:
    return {"user_s": user_s, "iterations": 10, "peak_memory_bytes": peak_memory_bytes}


def test_a_run_is_compared_with_the_runs_in_memory_before_and_after_it() -> None:
    memory = [ended(1.0), ended(1.0), ended(0.5)]

    figures = figures_of(Measured(memory, [ended(1.25), ended(1.0)], set()), SCALE)

    # 8000 of 10000 cells/s, then 10000 of the mean of 10000 and 20000.
    assert figures["kstar_fraction_worst"] == pytest.approx(1 / 1.5)
    assert figures["kstar_fraction_of_memory"] == pytest.approx((0.8 + 1 / 1.5) / 2)


def test_the_largest_peak_of_the_runs_over_the_disk_counts() -> None:
    found = Measured([ended(1.0, 10**9)] * 3, [ended(1.0, 2000), ended(1.0, 3000)], set())

    assert figures_of(found, SCALE)["peak_over_cap"] == 3000 / SCALE.cap_bytes


@pytest.mark.parametrize("scale", [WHOLE, QUICK])
def test_the_matrices_are_four_times_the_memory_and_the_waves_fit_into_the_budget(
    scale: Scale,
) -> None:
    planes_bytes = scale.matrices_bytes // scale.sides[0]

    assert scale.matrices_bytes == 4 * scale.cap_bytes
    assert (scale.waves + 2) * planes_bytes < scale.budget_bytes < scale.cap_bytes


def test_the_bits_of_a_sweep_are_those_of_the_loops() -> None:
    assert same_as_loops((4, 5, 3), iterations=3, waves=2)


def test_other_bits_than_those_of_the_loops_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planes, "sweep_by_loops", lambda u, f: sweep_by_loops(u, f, omega=1.25))

    assert not same_as_loops((4, 5, 3), iterations=3, waves=2)


def test_the_loops_update_a_cell_from_its_six_neighbours() -> None:
    u, f = np.ones((3, 3, 3)), np.full((3, 3, 3), 2.0)

    sweep_by_loops(u, f)

    assert u[1, 1, 1] == -0.5 + 0.25 * (6.0 - 2.0)
    assert u.sum() == 26.0 + u[1, 1, 1]


def test_too_little_memory_for_a_store_ends_the_run_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(planes, "IN_MEMORY", tmp_path / "none")

    with (
        pytest.raises(RunError, match=r"none has 0 B free, .* remount,size="),
        room_in_memory(SCALE),
    ):
        pass
