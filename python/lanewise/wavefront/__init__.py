# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront: sweeps over matrices larger than memory, from Python.

    outcome = lanewise.wavefront.run("demo", "livermore23", iterations=64, memory="2GiB")

A store is a folder of matrices; `Store` fills and reads it.  A kernel is the name of a built-in
one, or a Numba cfunc of `row_signature()` that updates the columns of a row, or one of
`plane_signature()` that updates a plane.  Arrays may stand in for a store; those of NumPy are swept
in memory.  `plan` says beforehand what a run will take.  `split` cuts a store into parts for the
ranks of an MPI job, `run_on_ranks` sweeps them there, and `join` puts them together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lanewise.wavefront.arrays import export_array, import_array
from lanewise.wavefront.kernel import PlaneKernel, RowKernel, plane_signature, row_signature
from lanewise.wavefront.matrix import Matrix
from lanewise.wavefront.options import Rates
from lanewise.wavefront.parts import join, split
from lanewise.wavefront.planning import Plan
from lanewise.wavefront.progress import ProgressBar
from lanewise.wavefront.ranks import resume_on_ranks, run_on_ranks
from lanewise.wavefront.run import Outcome, plan, resume, run
from lanewise.wavefront.store import Store

if TYPE_CHECKING:
    from lanewise.wavefront import half as half

__all__ = [
    "Matrix",
    "Outcome",
    "Plan",
    "PlaneKernel",
    "ProgressBar",
    "Rates",
    "RowKernel",
    "Store",
    "export_array",
    "import_array",
    "join",
    "plan",
    "plane_signature",
    "resume",
    "resume_on_ranks",
    "row_signature",
    "run",
    "run_on_ranks",
    "split",
]


if not TYPE_CHECKING:  # a type checker would take every name for one of the package

    def __getattr__(name: str) -> Any:
        """Import `half` when it is first used, since Numba is slow to import."""
        if name == "half":
            return import_module("lanewise.wavefront.half")
        raise AttributeError(f"module 'lanewise.wavefront' has no attribute '{name}'")
