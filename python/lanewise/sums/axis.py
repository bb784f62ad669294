# SPDX-License-Identifier: BSD-3-Clause
"""What a function of all numbers gives along an axis, as functions of numpy do."""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def refuse_masked(values: ArrayLike) -> None:
    """Raise TypeError for an array in which values are masked: what stands there is no number."""
    if np.ma.is_masked(values):
        raise TypeError("values are masked; fill them, or take values.compressed()")


def refuse_rounded(integers: NDArray[Any], rounded: NDArray[Any]) -> None:
    """Raise ValueError where an integer is no float64."""
    large = np.abs(rounded) >= 2**53
    # As objects, they are compared as the integers that they are.
    if np.any(rounded[large].astype(object) != integers[large].astype(object)):
        raise ValueError(
            f"values of {integers.dtype} are beyond 2^53 and no float64; sum(values.tolist()) and "
            "math.prod(values.tolist()) are exact"
        )


def numbers(values: ArrayLike, formats: Container[Any], otherwise: str) -> NDArray[Any]:
    """Return an array of one of `formats`, integers as float64.

    TypeError with `otherwise` for another format, ValueError for integers that are no float64.
    """
    refuse_masked(values)
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        integers, array = array, array.astype(np.float64)
        if integers.dtype.itemsize > 4:
            refuse_rounded(integers, array)
    if array.dtype not in formats:
        raise TypeError(f"{array.dtype} has {otherwise}")
    return array


Axis = int | tuple[int, ...] | None


def along(array: NDArray[Any], axis: Axis, reduced: Callable[[NDArray[Any]], Any]) -> Any:
    """Return `reduced` of all elements, or with axes of each row along them."""
    if axis is None:
        return reduced(array)
    if not isinstance(axis, (int, np.integer, tuple)):
        raise TypeError(f"axis={axis!r}; name an axis, or a tuple of them")
    axes = len(axis) if isinstance(axis, tuple) else 1
    rows = np.moveaxis(array, axis, tuple(range(-axes, 0)))
    kept = rows.shape[: array.ndim - axes]
    rows = rows.reshape((*kept, math.prod(rows.shape[len(kept) :])))
    results = np.empty(kept, dtype=array.dtype)
    for index in np.ndindex(results.shape):
        results[index] = reduced(rows[index])
    return results[()]  # a scalar where no axis is left
