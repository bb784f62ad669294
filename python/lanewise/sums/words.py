# SPDX-License-Identifier: BSD-3-Clause
"""The integers by which a sum or a product goes from one process to another."""

from __future__ import annotations

from ctypes import Array, c_int64, c_void_p

import numpy as np
from numpy.typing import ArrayLike

from lanewise.launch.native_library import Status
from lanewise.sums.library import library


def words_of(words: ArrayLike, count: int, whose: str) -> Array[c_int64]:
    """Return `words` for the library; ValueError unless `count`, TypeError unless integers."""
    given = np.asarray(words)
    if given.shape != (count,):
        raise ValueError(f"{given.size} words; those of {whose} are {count}")
    if given.dtype.kind not in "iu" or not np.can_cast(given.dtype, np.int64):
        raise TypeError(f"words of {given.dtype}; those of {whose} are int64")
    return (c_int64 * count)(*given.tolist())


def set_words(setter: str, handle: c_void_p, words: Array[c_int64], whose: str) -> None:
    """Call the function that sets them; ValueError where they are those of nothing."""
    if getattr(library(), setter)(handle, words) == Status.ARGUMENT:
        raise ValueError(f"these are no words of {whose}; take those of its property `words`")
