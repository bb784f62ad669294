# SPDX-License-Identifier: BSD-3-Clause
"""A product that grows, and that can be multiplied by those of others."""

from __future__ import annotations

from ctypes import byref, c_double, c_float, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lanewise.sums.axis import in_order_of_host, refuse_lost
from lanewise.sums.library import PRODUCT_WORDS, call, library
from lanewise.sums.ranks import refuse_intercommunicator
from lanewise.sums.words import set_words, words_of

MULTIPLY = {
    np.dtype(np.float64): "lw_product_multiply_f64",
    np.dtype(np.float32): "lw_product_multiply_f32",
}


class Product:
    """The product of the real numbers that were given so far, which it does not keep."""

    def __init__(self) -> None:
        """Begin with a product of nothing, which is 1."""
        self._handle = c_void_p()
        call("lw_product_create", byref(self._handle))

    def __del__(self) -> None:
        """Free the memory of the product."""
        if getattr(self, "_handle", None):
            library().lw_product_free(self._handle)

    def multiply(self, factors: ArrayLike) -> Product:
        """Multiply by the numbers of an array of any shape, and return the product.

        Raises TypeError for formats other than float64 and float32, and for masked values;
        ValueError for a list with an integer that no float64 is.
        """
        refuse_lost(factors)
        array = in_order_of_host(np.ascontiguousarray(factors))
        if array.dtype not in MULTIPLY:
            raise TypeError(f"{array.dtype} is neither float64 nor float32; convert it first")
        call(MULTIPLY[array.dtype], self._handle, c_void_p(array.ctypes.data), array.size)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_words, (self.words,)

    def merge(self, other: Product) -> Product:
        """Multiply by another product, and return this one; TypeError for another kind."""
        if not isinstance(other, Product):
            raise TypeError(f"{type(other).__name__} is no Product")
        call("lw_product_merge", self._handle, other._handle)
        return self

    @property
    def words(self) -> NDArray[np.int64]:
        """The product as integers, shape (19,), from which another process can make it again.

        Setting them makes it so; TypeError unless they are integers, ValueError for another shape
        and for those of no product.
        """
        words = (c_int64 * PRODUCT_WORDS)()
        call("lw_product_words", self._handle, words)
        return np.array(words, dtype=np.int64)

    @words.setter
    def words(self, words: ArrayLike) -> None:
        given = words_of(words, PRODUCT_WORDS, "a product")
        set_words("lw_product_set_words", self._handle, given, "a product")

    def allreduce(self, comm: Any) -> Product:
        """Replace the product by that of all ranks of an mpi4py communicator, and return it.

        Raises RequestError for an intercommunicator.
        """
        refuse_intercommunicator(comm)
        first, *others = comm.allgather(self.words)
        self.words = first
        for words in others:
            other = Product()
            other.words = words
            self.merge(other)
        return self

    def __float__(self) -> float:
        """Return the product, rounded to the nearest float64."""
        return float(self.value())

    def value(self, dtype: Any = np.float64) -> Any:
        """Return the product, rounded to float64 or float32.

        Raises TypeError for another `dtype`, and RunError where the rounding is undecided.
        """
        wanted = np.dtype(dtype).newbyteorder("=")
        if wanted == np.float64:
            wide = c_double()
            call("lw_product_f64", self._handle, byref(wide))
            return np.float64(wide.value)
        if wanted == np.float32:
            narrow = c_float()
            call("lw_product_f32", self._handle, byref(narrow))
            return np.float32(narrow.value)
        raise TypeError(f"{wanted} is neither float64 nor float32")


def _with_words(words: NDArray[np.int64]) -> Product:
    made = Product()
    made.words = words
    return made
