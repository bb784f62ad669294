# SPDX-License-Identifier: BSD-3-Clause
"""A sum that grows, and that can be added to those of others."""

from __future__ import annotations

from ctypes import byref, c_double, c_float, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanewise.sums.axis import in_order_of_host, refuse_lost
from lanewise.sums.library import WORDS, call, library
from lanewise.sums.ranks import refuse_intercommunicator
from lanewise.sums.words import set_words, words_of

ADD = {
    np.dtype(np.float64): "lw_accumulator_add_f64",
    np.dtype(np.float32): "lw_accumulator_add_f32",
}


class Accumulator:
    """The exact sum of the real numbers that were added so far."""

    def __init__(self) -> None:
        """Begin with a sum of nothing."""
        self._handle = c_void_p()
        call("lw_accumulator_create", byref(self._handle))

    def __del__(self) -> None:
        """Free the memory of the sum."""
        if getattr(self, "_handle", None):
            library().lw_accumulator_free(self._handle)

    def add(self, values: ArrayLike) -> Accumulator:
        """Add the numbers of an array of any shape, and return the accumulator.

        Raises TypeError for formats other than float64 and float32, and for masked values;
        ValueError for a list with an integer that no float64 is.
        """
        refuse_lost(values)
        array = in_order_of_host(np.ascontiguousarray(values))
        if array.dtype not in ADD:
            raise TypeError(f"{array.dtype} is neither float64 nor float32; convert it first")
        call(ADD[array.dtype], self._handle, c_void_p(array.ctypes.data), array.size)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_words, (self.words,)

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another accumulator has, and return this one; TypeError for another kind."""
        if not isinstance(other, Accumulator):
            raise TypeError(f"{type(other).__name__} is no Accumulator")
        call("lw_accumulator_merge", self._handle, other._handle)
        return self

    @property
    def words(self) -> NDArray[np.int64]:
        """The sum as integers, shape (75,); those of several sums may be added, in any order.

        Setting them makes this sum that of the integers; TypeError unless they are
        integers, ValueError for another shape and for those of no sum.
        """
        words = (c_int64 * WORDS)()
        call("lw_accumulator_words", self._handle, words)
        return np.array(words, dtype=np.int64)

    @words.setter
    def words(self, words: ArrayLike) -> None:
        given = words_of(words, WORDS, "a sum")
        set_words("lw_accumulator_set_words", self._handle, given, "a sum")

    def allreduce(self, comm: Any) -> Accumulator:
        """Replace the sum by that of all ranks of an mpi4py communicator, and return this one.

        Raises RequestError for an intercommunicator.
        """
        refuse_intercommunicator(comm)
        self.words = comm.allreduce(self.words)
        return self

    def __float__(self) -> float:
        """Return the sum, rounded to the nearest float64."""
        return float(self.value())

    def value(self, dtype: Any = np.float64) -> Any:
        """Return the sum, rounded to float64 or float32; TypeError for another `dtype`."""
        wanted = np.dtype(dtype).newbyteorder("=")
        if wanted == np.float64:
            wide = c_double()
            call("lw_accumulator_f64", self._handle, byref(wide))
            return np.float64(wide.value)
        if wanted == np.float32:
            narrow = c_float()
            call("lw_accumulator_f32", self._handle, byref(narrow))
            return np.float32(narrow.value)
        raise TypeError(f"{wanted} is neither float64 nor float32")


def _with_words(words: NDArray[np.int64]) -> Accumulator:
    made = Accumulator()
    made.words = words
    return made
