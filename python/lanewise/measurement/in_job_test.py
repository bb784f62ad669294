# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement in a running job writes is what the native program would write."""

from __future__ import annotations

import pytest

from lanewise.measurement.in_job import rounded


@pytest.mark.parametrize(
    ("value_s", "kept_s"),
    [
        (1.23456789123e-3, 0.0012345679),
        (1.23456789123e-5, 1.23457e-5),
        (1.23456789123e-8, 1.23457e-8),
        (-2.5e-9, -2.5e-9),
        (0.0, 0.0),
    ],
)
def test_times_keep_a_tenth_of_a_nanosecond_and_six_digits(value_s: float, kept_s: float) -> None:
    assert rounded(value_s) == kept_s
