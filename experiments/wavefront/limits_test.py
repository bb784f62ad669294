# SPDX-License-Identifier: BSD-3-Clause
"""How many waves the experiment takes, from the rates of disk and kernel."""

import pytest

from experiments.wavefront.limits import waves_for


@pytest.mark.parametrize(
    ("disk_bytes_per_s", "cells_per_s", "waves"),
    [(1.4e9, 1.0e9, 80), (1.4e9, 0.9e9, 80), (2.8e9, 0.1e9, 32), (0.2e9, 1.0e9, 128)],
)
def test_twice_the_break_even_in_whole_groups_within_limits(
    disk_bytes_per_s: float, cells_per_s: float, waves: int
) -> None:
    assert waves_for(disk_bytes_per_s, cells_per_s) == waves
