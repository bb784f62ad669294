# SPDX-License-Identifier: BSD-3-Clause
"""A product that grows, and that can be multiplied by those of others."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from lanewise.sums.growing import Growing
from lanewise.sums.library import PRODUCT_WORDS
from lanewise.sums.ranks import refuse_intercommunicator


class Product(Growing):
    """The product of the real numbers that were given so far, which it does not keep.

    Without any it is 1.  Its `words` have the shape (19,).
    """

    _prefix = "lw_product"
    _word_count = PRODUCT_WORDS
    _whose = "a product"

    def multiply(self, factors: ArrayLike) -> Product:
        """Multiply by the numbers of an array of any shape, and return the product.

        Raises TypeError for formats other than float64 and float32, and for masked values;
        ValueError for a list with an integer that no float64 is.
        """
        self._take("multiply", factors)
        return self

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
