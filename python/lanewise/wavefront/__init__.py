# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront: sweeps over matrices larger than memory, from Python.

    outcome = lanewise.wavefront.run("demo", "livermore23", iterations=64, memory="2GiB")

A store is a folder of matrices; `Store` fills and reads it.  A kernel is the name of a built-in
one, or a Numba cfunc of `row_signature()` that updates the columns of a row.  numpy arrays may
stand in for a store: they are streamed through a temporary one.
"""

from lanewise.wavefront.kernel import RowKernel, row_signature
from lanewise.wavefront.matrix import Matrix
from lanewise.wavefront.run import Outcome, resume, run
from lanewise.wavefront.store import Store

__all__ = ["Matrix", "Outcome", "RowKernel", "Store", "resume", "row_signature", "run"]
