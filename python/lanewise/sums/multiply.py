# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.prod`: numpy.prod, but rounded once."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lanewise.sums.axis import Axis, along, numbers, rows_along
from lanewise.sums.library import call
from lanewise.sums.product import Product
from lanewise.sums.ranks import agreed

PRODUCTS = {
    np.dtype(np.float64): "lw_prod_f64",
    np.dtype(np.float32): "lw_prod_f32",
    np.dtype(np.complex128): "lw_prod_c128",
    np.dtype(np.complex64): "lw_prod_c64",
}


def prod(values: ArrayLike, axis: Axis = None, comm: Any = None) -> Any:
    """Return the number nearest to the exact product of numbers, in their format.

    Without `axis` it is one number; with one, or a tuple of them, an array of the shape of `values`
    without those axes, as in numpy.prod.  With a communicator of mpi4py it is the product over all
    ranks, which depends neither on their number nor on how the numbers are dealt among them.
    Its format holds the numbers of all; where a rank raises, all do.  Integers are multiplied as
    float64.  Of a complex product both parts are nearest to the exact ones.  Raises TypeError for
    formats other than float32, float64, complex64 and complex128, and for complex numbers with a
    communicator, ValueError for an axis that `values` lacks and for integers beyond 2^53 that no
    float64 is, RunError for what another rank gave, and RequestError for an intercommunicator
    and where no native library is built.
    """

    def prepared() -> Any:
        array = numbers(values, PRODUCTS, "no exact product; convert it to float64 or complex128")
        return rows_along(array, axis)

    rows = prepared() if comm is None else agreed(comm, prepared)
    if comm is not None and rows.dtype.kind == "c":
        raise TypeError(
            f"{rows.dtype} has no exact product over ranks here; gather the numbers, or give "
            "MPI_Allreduce one factor per rank in lanewise run --same-bits ranks"
        )
    return along(rows, lambda row: _product_of_all(row, comm))


def _product_of_all(array: Any, comm: Any) -> Any:
    if comm is not None:
        return Product().multiply(array).allreduce(comm).value(array.dtype)
    row = np.ascontiguousarray(array)
    product = np.ones(1, dtype=row.dtype)
    call(PRODUCTS[row.dtype], c_void_p(row.ctypes.data), row.size, c_void_p(product.ctypes.data))
    return product[0]
