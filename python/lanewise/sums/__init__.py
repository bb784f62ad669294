# SPDX-License-Identifier: BSD-3-Clause
"""Sums: exact sums and products of floating-point numbers, the same bits in every order.

    total = lanewise.sum(values)                  # of a numpy array, or of what becomes one
    total = lanewise.sum(values, comm=comm)       # and of those of all ranks, with mpi4py

`lanewise.prod` and `lanewise.Product` are the same for products.  A result is rounded once, to the
nearest number, ties to even.  <lanewise/sum.h> says what NaN, infinities and zeros become.
"""

from lanewise.sums.accumulator import Accumulator
from lanewise.sums.add import sum  # noqa: A004
from lanewise.sums.multiply import prod
from lanewise.sums.product import Product

__all__ = ["Accumulator", "Product", "prod", "sum"]
