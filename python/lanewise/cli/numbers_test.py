# SPDX-License-Identifier: BSD-3-Clause
"""One grammar for counts, repetitions and shares, whatever the command."""

import pytest

from lanewise.cli.numbers import counted, positive_count, repetitions, share
from lanewise.errors import RequestError


@pytest.mark.parametrize(("text", "value"), {"5%": 0.05, "0.05": 0.05, "0": 0, "150%": 1.5}.items())
def test_a_share_is_a_percentage_or_a_fraction(text: str, value: float) -> None:
    assert share("--error", text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["5", "1", "-5%", "nan", "inf", "%", "five"])
def test_what_could_be_either_or_neither_is_no_share(text: str) -> None:
    with pytest.raises(RequestError, match=r"is not a share; write 5% or 0\.05"):
        share("--error", text)


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
