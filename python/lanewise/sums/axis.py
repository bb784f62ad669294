# SPDX-License-Identifier: BSD-3-Clause
"""What a function of all numbers gives along an axis, as functions of numpy do."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# An array of these is what they are.
FLOATS = frozenset((bool, float, complex, np.bool_, np.float32, np.float64, np.complex64,
                    np.complex128))  # fmt: skip

# Sequences whose members all have one format.
UNIFORM = (str, bytes, bytearray, memoryview, range)


def refuse_masked(values: ArrayLike) -> None:
    """Raise TypeError for an array in which values are masked: what stands there is no number."""
    if np.ma.is_masked(values):
        raise TypeError("values are masked; fill them, or take values.compressed()")


def refuse_lost(values: ArrayLike) -> None:
    """Refuse what an array of `values` would not show any more.

    TypeError for masked values, ValueError for an integer in a list that beside other numbers
    becomes a float64 which it is not.
    """
    if not isinstance(values, Sequence) or isinstance(values, UNIFORM):
        refuse_masked(values)
        return
    if FLOATS.issuperset(map(type, values)):
        return
    for member in values:
        if isinstance(member, (int, np.integer)):
            _refuse_rounded_integer(int(member))
        elif isinstance(member, Sequence):
            refuse_lost(member)
        elif type(member) not in FLOATS:
            refuse_masked(member)
            refuse_rounded(np.asarray(member))


def _refuse_rounded_integer(integer: int) -> None:
    # Of larger ones NumPy makes no float64.
    if 2**53 < abs(integer) < 2**64 and int(float(integer)) != integer:
        raise ValueError(
            f"{integer} is beyond 2^53 and no float64; sum(map(Fraction, values)) and "
            "math.prod(map(Fraction, values)) are exact"
        )


def refuse_rounded(integers: NDArray[Any]) -> None:
    """Raise ValueError for an array of integers of which one is no float64."""
    if integers.dtype.kind not in "iu" or integers.dtype.itemsize <= 4:
        return
    rounded = integers.astype(np.float64)
    large = np.abs(rounded) >= 2**53
    # As objects, they are compared as the integers that they are.
    if np.any(rounded[large].astype(object) != integers[large].astype(object)):
        raise ValueError(
            f"values of {integers.dtype} are beyond 2^53 and no float64; sum(values.tolist()) and "
            "math.prod(values.tolist()) are exact"
        )


def in_order_of_host(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers with their bytes in the order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def numbers(values: ArrayLike, formats: Container[Any], otherwise: str) -> NDArray[Any]:
    """Return an array of one of `formats`, integers as float64.

    TypeError with `otherwise` for another format and for masked values, ValueError for integers
    that are no float64.
    """
    refuse_lost(values)
    array = in_order_of_host(np.asarray(values))
    if array.dtype.kind in "iub":
        refuse_rounded(array)
        array = array.astype(np.float64)
    if array.dtype not in formats:
        raise TypeError(f"{array.dtype} has {otherwise}")
    return array


Axis = int | tuple[int, ...] | None


def rows_along(array: NDArray[Any], axis: Axis) -> NDArray[Any]:
    """Return the elements with those along the axes as the last axis: all of them without axes."""
    if axis is None:
        return array.reshape(-1)
    if not isinstance(axis, (int, np.integer, tuple)):
        raise TypeError(f"axis={axis!r}; name an axis, or a tuple of them")
    axes = len(axis) if isinstance(axis, tuple) else 1
    rows = np.moveaxis(array, axis, tuple(range(-axes, 0)))
    kept = rows.shape[: array.ndim - axes]
    return rows.reshape((*kept, math.prod(rows.shape[len(kept) :])))


def along(rows: NDArray[Any], reduced: Callable[[NDArray[Any]], Any]) -> Any:
    """Return `reduced` of each row."""
    results = np.empty(rows.shape[:-1], dtype=rows.dtype)
    for index in np.ndindex(results.shape):
        results[index] = reduced(rows[index])
    return results[()]  # a scalar where no axis is left
