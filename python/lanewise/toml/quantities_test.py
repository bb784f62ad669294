# SPDX-License-Identifier: BSD-3-Clause
"""Quantities are read with their units, in descriptions never without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.errors import RequestError
from lanewise.toml import quantities
from lanewise.toml.quantities import (
    RATE,
    SHARE,
    SIZE,
    SPEED,
    TIME,
    Kind,
    duration_s,
    rate_bytes_per_s,
    speed_flops,
)

DURATIONS = {
    "90": 90.0, "90s": 90.0, "1.5 s": 1.5, "500ms": 0.5, "20us": 20e-6, "20µs": 20e-6,
    "5ns": 5e-9, "1e-3": 1e-3, "10min": 600.0, "2h": 7200.0,
}  # fmt: skip


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


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items())
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert duration_s("--budget", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-3s", "0", "3 weeks", "1e", "nan"])
def test_what_is_no_duration_is_refused_by_value(text: str) -> None:
    with pytest.raises(RequestError, match=f"--budget {text} is not a duration; write 90s"):
        duration_s("--budget", text)


@pytest.mark.parametrize(
    "text", ["125e6", "125MB/s", "125 MB/s", "0.125GB/s", "1Gbit/s", "1000 Mb/s"]
)
def test_a_rate_is_in_bits_or_bytes_and_a_bare_number_in_bytes(text: str) -> None:
    assert rate_bytes_per_s("--smpi-rate", text) == pytest.approx(125e6)


@pytest.mark.parametrize("text", ["2e9", "2Gflop/s", "2000 Mflop/s"])
def test_a_speed_is_in_operations_a_second(text: str) -> None:
    assert speed_flops("--smpi-speeds", text) == pytest.approx(2e9)


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf", "5 MB", "2Gflop/s"])
def test_what_is_no_rate_is_refused_by_value(text: str) -> None:
    with pytest.raises(RequestError, match=f"--rate {text} is not a rate above 0; write 1Gbit/s"):
        rate_bytes_per_s("--rate", text)


def test_a_duration_may_be_zero_where_that_means_something() -> None:
    assert duration_s("--failback-delay", "0", zero=True) == 0.0
    with pytest.raises(RequestError):
        duration_s("--failback-delay", "-1", zero=True)
