# SPDX-License-Identifier: BSD-3-Clause
"""What a sum and a product that grow have in common: all but how they take and share numbers."""

from __future__ import annotations

from ctypes import byref, c_double, c_float, c_int64, c_void_p
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanewise.sums.axis import in_order_of_host, refuse_lost
from lanewise.sums.library import call, library
from lanewise.sums.words import set_words, words_of

# How the C functions for a format end, and the number that they give.
FORMATS = {np.dtype(np.float64): ("f64", c_double), np.dtype(np.float32): ("f32", c_float)}

Kind = TypeVar("Kind", bound="Growing")


class Growing:
    """The sum or product of the numbers that were given so far, which the native library keeps."""

    _prefix: ClassVar[str]  # of its C functions
    _word_count: ClassVar[int]
    _whose: ClassVar[str]  # in messages about its words

    def __init__(self) -> None:
        """Begin with the result of nothing."""
        self._create()

    def _create(self) -> None:
        self._handle = c_void_p()
        call(f"{self._prefix}_create", byref(self._handle))

    def __del__(self) -> None:
        """Free its memory."""
        if getattr(self, "_handle", None):
            getattr(library(), f"{self._prefix}_free")(self._handle)

    def __getstate__(self) -> tuple[NDArray[np.int64], dict[str, Any]]:
        attributes = {name: kept for name, kept in vars(self).items() if name != "_handle"}
        return self.words, attributes

    def __setstate__(self, state: tuple[NDArray[np.int64], dict[str, Any]]) -> None:
        words, attributes = state
        self._create()
        self.words = words
        vars(self).update(attributes)

    def _take(self, verb: str, values: ArrayLike) -> None:
        """Take the numbers of an array by the C functions that have this verb in their names."""
        refuse_lost(values)
        array = in_order_of_host(np.ascontiguousarray(values))
        if array.dtype not in FORMATS:
            raise TypeError(f"{array.dtype} is neither float64 nor float32; convert it first")
        function = f"{self._prefix}_{verb}_{FORMATS[array.dtype][0]}"
        call(function, self._handle, c_void_p(array.ctypes.data), array.size)

    def merge(self: Kind, other: Kind) -> Kind:
        """Add another sum, or multiply by another product, and return this one.

        Raises TypeError for a sum and a product.
        """
        if not isinstance(other, Growing) or other._prefix != self._prefix:
            raise TypeError(f"{type(other).__name__} is no {type(self).__name__}")
        call(f"{self._prefix}_merge", self._handle, other._handle)
        return self

    @property
    def words(self) -> NDArray[np.int64]:
        """The sum or product as integers, from which another process can make it again.

        Setting them replaces it; TypeError unless they are integers, ValueError for another shape
        and for integers of no sum or product.
        """
        words = (c_int64 * self._word_count)()
        call(f"{self._prefix}_words", self._handle, words)
        return np.array(words, dtype=np.int64)

    @words.setter
    def words(self, words: ArrayLike) -> None:
        given = words_of(words, self._word_count, self._whose)
        set_words(f"{self._prefix}_set_words", self._handle, given, self._whose)

    def __float__(self) -> float:
        """Return the sum or product, rounded to the nearest float64."""
        return float(self.value())

    def value(self, dtype: Any = np.float64) -> Any:
        """Return the sum or product, rounded to float64 or float32.

        Raises TypeError for another `dtype`, and of a product RunError where its rounding is
        undecided.
        """
        wanted = np.dtype(dtype).newbyteorder("=")
        if wanted not in FORMATS:
            raise TypeError(f"{wanted} is neither float64 nor float32")
        suffix, number = FORMATS[wanted]
        rounded = number()
        call(f"{self._prefix}_{suffix}", self._handle, byref(rounded))
        return wanted.type(rounded.value)
