# SPDX-License-Identifier: BSD-3-Clause
"""Conversion: values of another type on their way into a store.

Numbers stay of their kind or become of a more general one: other bytes, other widths, integers to
floating point.  They are rounded to the nearest number that the store can hold, and one beyond its
range is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError, RunError

Array = npt.NDArray[Any]


def check_conversion(found: npt.DTypeLike, wanted: np.dtype[Any]) -> None:
    """Raise RequestError where values of `found` would lose what they are as `wanted`."""
    if not np.can_cast(found, wanted, "same_kind"):
        raise RequestError(
            f"{np.dtype(found)} is not converted to the store's {wanted}, as values would lose "
            f"more than digits; convert it with .astype({str(wanted)!r}) if that is meant"
        )


def converted(values: Array, wanted: np.dtype[Any], first_row: int) -> Array:
    """Return `values`, the rows from `first_row` on, as `wanted`; RunError for one out of range."""
    if values.dtype == wanted:
        return values
    if wanted.kind == "i" and values.size and not np.can_cast(values.dtype, wanted, "safe"):
        limits = np.iinfo(wanted)
        if values.min() < limits.min or values.max() > limits.max:
            raise _out_of_range(wanted, first_row, len(values))
    try:
        with np.errstate(over="raise"):
            return values.astype(wanted)
    except FloatingPointError:
        raise _out_of_range(wanted, first_row, len(values)) from None


def _out_of_range(wanted: np.dtype[Any], first_row: int, count: int) -> RunError:
    last_row = first_row + count - 1
    return RunError(f"a value in rows {first_row} to {last_row} is out of the range of {wanted}")
