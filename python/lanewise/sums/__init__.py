# SPDX-License-Identifier: BSD-3-Clause
"""Sums: exact sums of floating-point numbers, the same bits however they are added.

    total = lanewise.sum(values)                  # of a numpy array, or of what becomes one
    total = lanewise.sum(values, comm=comm)       # and of those of all ranks, with mpi4py

A sum is rounded once, to the nearest number, ties to even.  <lanewise/sum.h> says what NaN,
infinities and zeros become.
"""

from lanewise.sums.accumulator import Accumulator
from lanewise.sums.add import sum  # noqa: A004

__all__ = ["Accumulator", "sum"]
