# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.sum`: numpy.sum, but exact."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lanewise.sums.accumulator import Accumulator
from lanewise.sums.axis import Axis, along, numbers, rows_along
from lanewise.sums.library import call
from lanewise.sums.ranks import agreed

SUMS = {
    np.dtype(np.float64): "lw_sum_f64",
    np.dtype(np.float32): "lw_sum_f32",
    np.dtype(np.complex128): "lw_sum_c128",
    np.dtype(np.complex64): "lw_sum_c64",
}


def sum(values: ArrayLike, axis: Axis = None, comm: Any = None) -> Any:  # noqa: A001
    """Return the exact sum of numbers, rounded once to their format.

    Without `axis` it is one number; with one, or a tuple of them, an array of the shape of `values`
    without those axes, as in numpy.sum.  With a communicator of mpi4py it is the sum over all
    ranks, which depends neither on their number nor on how the numbers are dealt among them.
    Its format holds the numbers of all; where a rank raises, all do.  Integers are added as
    float64.  Raises TypeError for formats other than float32, float64, complex64 and complex128,
    ValueError for an axis that `values` lacks and for integers beyond 2^53 that no float64 is,
    RunError for what another rank gave, and RequestError for an intercommunicator and where no
    native library is built.
    """

    def prepared() -> Any:
        array = numbers(values, SUMS, "no exact sum; convert it to float64 or complex128")
        return rows_along(array, axis)

    rows = prepared() if comm is None else agreed(comm, prepared)
    return along(rows, lambda row: _sum_of_all(row, comm))


def _sum_of_all(array: Any, comm: Any) -> Any:
    if comm is None:
        row = np.ascontiguousarray(array)
        total = np.zeros(1, dtype=row.dtype)
        call(SUMS[row.dtype], c_void_p(row.ctypes.data), row.size, c_void_p(total.ctypes.data))
        return total[0]
    if array.dtype.kind != "c":
        return Accumulator().add(array).allreduce(comm).value(array.dtype)
    part = array.real.dtype
    real, imaginary = (
        Accumulator().add(np.ascontiguousarray(one)).allreduce(comm).value(part)
        for one in (array.real, array.imag)
    )
    total = np.empty(1, dtype=array.dtype)
    total.real[0], total.imag[0] = real, imaginary
    return total[0]
