# SPDX-License-Identifier: BSD-3-Clause
"""One grammar for counts, durations, rates and shares, whatever the command."""

import pytest

from lanewise.cli.numbers import (
    counted,
    duration_s,
    positive_count,
    rate_bytes_per_s,
    repetitions,
    share,
    speed_flops,
)
from lanewise.errors import RequestError

DURATIONS = {
    "90": 90.0, "90s": 90.0, "1.5 s": 1.5, "500ms": 0.5, "20us": 20e-6, "20µs": 20e-6,
    "5ns": 5e-9, "1e-3": 1e-3, "10min": 600.0, "2h": 7200.0,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), DURATIONS.items())
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert duration_s("--budget", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-3s", "0", "3 weeks", "1e", "nan"])
def test_what_is_no_duration_is_refused_by_value(text: str) -> None:
    with pytest.raises(RequestError, match=f"--budget {text} is not a duration; write 90s"):
        duration_s("--budget", text)


@pytest.mark.parametrize(("text", "value"), {"5%": 0.05, "0.05": 0.05, "0": 0, "150%": 1.5}.items())
def test_a_share_is_a_percentage_or_a_fraction(text: str, value: float) -> None:
    assert share("--error", text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["5", "1", "-5%", "nan", "inf", "%", "five"])
def test_what_could_be_either_or_neither_is_no_share(text: str) -> None:
    with pytest.raises(RequestError, match=r"is not a share; write 5% or 0\.05"):
        share("--error", text)


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


@pytest.mark.parametrize(("text", "bounds"), {"12": (12, 12), "6:12": (6, 12)}.items())
def test_repetitions_are_a_number_or_bounds(text: str, bounds: tuple[int, int]) -> None:
    assert repetitions("--repetitions", text) == bounds


@pytest.mark.parametrize("text", ["", "0", "12:6", "6:", "1:2:3", "few", "-4"])
def test_what_are_no_repetitions_is_refused_by_value(text: str) -> None:
    with pytest.raises(RequestError, match=f"--repetitions {text} is neither N nor MIN:MAX"):
        repetitions("--repetitions", text)


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "many", ""])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is not a whole number from 1 up; try -n 4"):
        positive_count("-n", text)


def test_a_duration_may_be_zero_where_that_means_something() -> None:
    assert duration_s("--failback-delay", "0", zero=True) == 0.0
    with pytest.raises(RequestError):
        duration_s("--failback-delay", "-1", zero=True)


@pytest.mark.parametrize(
    ("count", "what", "text"),
    [(0, "rule", "0 rules"), (1, "rule", "1 rule"), (2, "pass", "2 passes")],
)
def test_one_thing_is_singular(count: int, what: str, text: str) -> None:
    assert counted(count, what) == text


@pytest.mark.parametrize("text", ["2147483648", "5000000000", "9" * 20])
def test_a_count_that_is_too_large_for_a_native_program_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match=f"^--launches {text} is above 2147483647; try "):
        positive_count("--launches", text)

    assert positive_count("--launches", "2147483647") == 2**31 - 1
