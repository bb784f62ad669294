# SPDX-License-Identifier: BSD-3-Clause
"""A sum that grows, and that can be added to those of others."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from lanewise.sums.growing import Growing
from lanewise.sums.library import WORDS
from lanewise.sums.ranks import refuse_intercommunicator


class Accumulator(Growing):
    """The exact sum of the real numbers that were added so far.

    Its `words` have the shape (75,), and those of several sums may be added, in any order.
    """

    _prefix = "lw_accumulator"
    _word_count = WORDS
    _whose = "a sum"

    def add(self, values: ArrayLike) -> Accumulator:
        """Add the numbers of an array of any shape, and return the accumulator.

        Raises TypeError for formats other than float64 and float32, and for masked values;
        ValueError for a list with an integer that no float64 is.
        """
        self._take("add", values)
        return self

    def allreduce(self, comm: Any) -> Accumulator:
        """Replace the sum by that of all ranks of an mpi4py communicator, and return this one.

        Raises RequestError for an intercommunicator.
        """
        refuse_intercommunicator(comm)
        self.words = comm.allreduce(self.words)
        return self
