# SPDX-License-Identifier: BSD-3-Clause
"""Quantities are read with their units, and never without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.toml import quantities
from lanewise.toml.quantities import RATE, SHARE, SIZE, SPEED, TIME, Kind


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (RATE, "250 Mbit/s", 250e6),
        (RATE, "10Gb/s", 10e9),
        (RATE, "1.5 kbit/s", 1500.0),
        (RATE, "125MB/s", 1e9),
        (RATE, "1.5 GB/s", 12e9),
        (SPEED, "2 Gflop/s", 2e9),
        (TIME, "5 ms", 5e6),
        (TIME, "20us", 20e3),
        (TIME, "0 ms", 0.0),
        (SIZE, "1 MiB", 2.0**20),
        (SIZE, "64 kB", 64e3),
        (SHARE, "0.1 %", 0.001),
    ],
)
def test_a_quantity_is_a_number_and_a_unit(kind: Kind, text: str, value: float) -> None:
    assert quantities.parse(kind, text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (RATE, 250, "no unit"),
        (RATE, "250", "no unit"),
        (TIME, 0, "no unit"),
        (TIME, "5 Mbit/s", "ns, us"),
        (RATE, "5 MB", "Mbit/s"),
        (SPEED, "5 Gbit/s", "Gflop/s"),
        (RATE, "-5 Mbit/s", "is not a rate"),
        (RATE, "fast", "is not a rate"),
        (RATE, True, "is not a rate"),
        (TIME, ["5 ms"], "is not a time"),
        (SHARE, "101 %", "more than"),
    ],
)
def test_anything_else_is_refused_with_the_way_to_write_it(
    kind: Kind, value: object, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        quantities.parse(kind, value)


@given(st.integers(1, 999), st.sampled_from(["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]))
def test_a_rate_that_is_shown_reads_as_the_same(number: int, unit: str) -> None:
    value = quantities.parse(RATE, f"{number} {unit}")

    assert quantities.parse(RATE, quantities.rate_text(value)) == pytest.approx(value)


@given(st.integers(0, 999), st.sampled_from(["ns", "us", "ms", "s"]))
def test_a_time_that_is_shown_reads_as_the_same(number: int, unit: str) -> None:
    value = quantities.parse(TIME, f"{number} {unit}")

    assert quantities.parse(TIME, quantities.time_text(value)) == pytest.approx(value)
