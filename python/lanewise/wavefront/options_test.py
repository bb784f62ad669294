# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a run becomes what the library takes, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from lanewise.errors import RequestError
from lanewise.wavefront.kernel import RowKernel
from lanewise.wavefront.options import (
    Ending,
    run_options,
    size_bytes,
    text_bytes,
    whole_number,
)

# Would be cut off at the NUL, or have no bytes; and what is no text.
NO_TEXTS = ["sor\0junk", "sor\ud800", "sor\n", 5, None]


@pytest.mark.parametrize("text", NO_TEXTS)
def test_a_text_that_the_library_would_cut_off_is_refused(text: str) -> None:
    with pytest.raises(RequestError) as raised:
        text_bytes("kernel", text)

    assert str(raised.value) == f"kernel is a text of printable characters, not {text!r}"
    assert text_bytes("kernel", "größe 1") == "größe 1".encode()


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("until", lambda text: run_options(1, memory="1GiB", ending=Ending(until=text))),
        ("directions", lambda text: run_options(1, memory="1GiB", directions=text)),
        ("directions", lambda text: run_options(1, memory="1GiB", directions=["up-left", text])),
        ("borders", lambda text: run_options(1, memory="1GiB", borders=text)),
        ("borders", lambda text: run_options(1, memory="1GiB", borders={"left": text})),
    ],
)
def test_a_text_that_would_be_cut_off_is_refused_by_its_name(
    name: str, asked: Callable[[str], object]
) -> None:
    with pytest.raises(RequestError, match=f"{name} is a text of printable characters"):
        asked("down-right\0up")


@pytest.mark.parametrize(
    "size",
    [2**29, 2**30 / 2, np.float64(2**29), np.int64(2**29), np.array(2**29), Fraction(2**29),
     "512MiB"],
)  # fmt: skip
def test_a_budget_is_a_whole_number_of_bytes_of_any_type_or_a_size(size: str | float) -> None:
    assert size_bytes(size) == 2**29
    assert type(size_bytes(size)) is int


@pytest.mark.parametrize(
    "size",
    [1.5, -1, -1.0, float("inf"), float("nan"), np.float64(0.5), Fraction(1, 2), None,
     np.array([1, 2]), [1]],
    ids=str,
)  # fmt: skip
def test_a_budget_that_is_no_whole_number_of_bytes_is_refused(size: float) -> None:
    with pytest.raises(RequestError) as raised:
        size_bytes(size)

    says = f"memory is a whole number of bytes, such as 2**30, not {size}"
    assert str(raised.value) == says


def test_a_number_that_is_too_long_to_print_is_refused_without_it() -> None:
    with pytest.raises(
        RequestError, match=r"such as 2\*\*30, not a number of thousands of digits$"
    ):
        size_bytes(-(10**5000))
    with pytest.raises(RequestError, match=r"from 0 to 8, not a number of thousands of digits$"):
        whole_number("threads", 10**5000, 8)


def test_a_count_is_one_number() -> None:
    with pytest.raises(RequestError, match=r"threads is a whole number from 0 to 8, not \[1 2\]"):
        whole_number("threads", np.array([1, 2]), 8)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", ["1.5GiB", "64m", "512 MiB", "", "-1"])
def test_a_text_that_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(RequestError, match=f"memory '{size}' is not a size, which is a whole"):
        size_bytes(size)


@pytest.mark.parametrize("size", [2**63, 1e300, 1 << 20000, "9" * 5000, "8388608TiB"], ids=type)
def test_a_budget_of_too_many_bytes_is_refused_however_long_it_is(size: str | float) -> None:
    with pytest.raises(RequestError, match=f"memory is at most {2**63 - 1} bytes; give less"):
        size_bytes(size)

    assert size_bytes("0" * 5000 + "1KiB") == 1024


@pytest.mark.parametrize("radius", [0, 9, -1, 2**32 + 1, 1.0, "1"])
def test_a_kernel_reads_from_1_to_8_rows_around_a_cell(radius: int) -> None:
    with pytest.raises(RequestError, match=f"radius is a whole number from 1 to 8, not {radius}"):
        RowKernel(12345, radius=radius)

    assert RowKernel(12345, radius=8).radius == 8
