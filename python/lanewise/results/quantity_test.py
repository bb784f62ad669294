# SPDX-License-Identifier: BSD-3-Clause
"""Numbers are written with the digits they deserve and the unit that fits."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.results.quantity import percent_text, rate_text, size_text, time_text, time_tick

SCALE_S = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (1.234e-6, "1.23 µs"),
        (999.6e-9, "1.00 µs"),
        (12.34, "12.3 s"),
        (-181e-9, "-181 ns"),
        (3e-12, "0.00300 ns"),
        (None, "—"),
        (math.nan, "—"),
    ],
)
def test_a_time_has_three_digits_and_a_fitting_unit(seconds: float | None, text: str) -> None:
    assert time_text(seconds) == text


@given(st.floats(min_value=1e-9, max_value=900))
def test_a_written_time_is_within_half_a_percent(seconds: float) -> None:
    value, unit = time_text(seconds).split()

    assert float(value) * SCALE_S[unit] == pytest.approx(seconds, rel=0.0051)


@given(st.floats(min_value=1e-9, max_value=900))
def test_a_written_time_is_short(seconds: float) -> None:
    assert re.fullmatch(r"\d{1,4}(\.\d{1,2})? (s|ms|µs|ns)", time_text(seconds))


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (102400, "100 KiB"), (1 << 31, "2 GiB")],
)
def test_a_size_has_a_binary_prefix(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


@given(st.integers(min_value=0, max_value=(1 << 20) - 1), st.sampled_from([1, 1 << 10, 1 << 20]))
def test_a_whole_number_of_a_unit_is_written_exactly(count: int, unit: int) -> None:
    value, name = size_text(count * unit).split()
    scale = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[name]

    assert float(value) * scale == pytest.approx(count * unit, rel=0.01)


def test_an_axis_writes_round_times_without_zeros() -> None:
    assert [time_tick(value) for value in (0.0, 1e-6, 2e-5, 0.5)] == [
        "0",
        "1 µs",
        "20 µs",
        "500 ms",
    ]


def test_rates_and_shares_carry_their_unit() -> None:
    assert rate_text(12.3e9) == "12.3 GB/s"
    assert percent_text(0.025) == "2.5 %"
    assert percent_text(0.000012) == "0.0012 %"
    assert percent_text(2.5e-9) == "2.5e-07 %"
    assert percent_text(0.0) == "0 %"
