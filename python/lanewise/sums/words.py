# SPDX-License-Identifier: BSD-3-Clause
"""The integers by which a sum or a product goes from one process to another."""

from __future__ import annotations

from ctypes import Array, c_int64

import numpy as np
from numpy.typing import ArrayLike


def words_of(words: ArrayLike, count: int, whose: str) -> Array[c_int64]:
    """Return `words` for the library; ValueError unless `count`, TypeError unless integers."""
    given = np.asarray(words)
    if given.shape != (count,):
        raise ValueError(f"{given.size} words; those of {whose} are {count}")
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise TypeError(f"words of {given.dtype}; those of {whose} are int64")
    return (c_int64 * count)(*given.tolist())
