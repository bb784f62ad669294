# SPDX-License-Identifier: BSD-3-Clause
"""The functions of <lanewise/wavefront.h> through ctypes."""

from __future__ import annotations

import contextlib
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError, unusable_in
from lanewise.launch import native_library
from lanewise.launch.mpi4py_library import (
    communicator_type,
    family_in_use,
    family_of,
    library_version,
)
from lanewise.launch.native_library import Report, Sentences, Status, error_of

ELEMENTS = (
    "float32", "float64", "complex64", "complex128", "int32", "int64", "float16"
)  # fmt: skip


def element_of(dtype: npt.DTypeLike) -> str:
    """Return which of ELEMENTS a type is, in whatever way it is named; RequestError for others."""
    try:
        element = np.dtype(dtype).name
    # SyntaxError is of texts such as "(2,3", ValueError of "2**".
    except (TypeError, ValueError, SyntaxError):
        element = ""
    if element not in ELEMENTS:
        raise RequestError(f"dtype {dtype} cannot be stored; use one of {', '.join(ELEMENTS)}")
    return element


Moved = CFUNCTYPE(None, c_void_p, c_uint64, c_uint64)
MoveRows = CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64, c_void_p)


class MatrixShape(Structure):
    """lw_wavefront_shape."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("element", c_int),
        ("layout", c_char_p),
        ("data_count", c_uint32),
        ("coefficient_count", c_uint32),
        ("rows", c_uint64),
        ("columns", c_uint64),
        ("strip_rows", c_uint64),
        ("tile_columns", c_uint64),
        ("line_columns", c_uint64),
        ("row_coefficient_count", c_uint32),
        ("column_coefficient_count", c_uint32),
    )


class Kernel(Structure):
    """lw_wavefront_kernel."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("radius", c_uint32),
        ("reads", c_int),
        ("watch_writes", c_int),
        ("update", c_void_p),
        ("context", c_void_p),
        ("name", c_char_p),
        ("advance", c_void_p),
        ("advance_and_measure", c_void_p),
        ("skew", c_uint32),
        ("update_directed", c_void_p),
        ("update_plane", c_void_p),
        ("steps_turn", c_int),
    )


class Progress(Structure):
    """lw_wavefront_progress."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("iterations_done", c_uint64),
        ("iterations_wanted", c_uint64),
        ("waves", c_uint64),
        ("strips_done", c_uint64),
        ("strip_count", c_uint64),
        ("elapsed_s", c_double),
    )


OnProgress = CFUNCTYPE(None, c_void_p, POINTER(Progress))
OnPause = CFUNCTYPE(c_int, c_void_p, c_uint64, c_double)


class RunOptions(Structure):
    """lw_wavefront_run_options."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("threads", c_uint32),
        ("iterations", c_uint64),
        ("memory_bytes", c_uint64),
        ("waves", c_uint64),
        ("tolerance", c_double),
        ("check_finite", c_int),
        ("progress", OnProgress),
        ("progress_context", c_void_p),
        ("directions", c_char_p),
        ("until", c_char_p),
        ("pause_every", c_uint64),
        ("paused", OnPause),
        ("paused_context", c_void_p),
        ("borders", c_char_p),
        ("rtol", c_double),
        ("atol", c_double),
        ("read_bytes_per_s", c_double),
        ("write_bytes_per_s", c_double),
        ("cells_per_s", c_double),
    )


class RunPlan(Structure):
    """lw_wavefront_plan."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("waves", c_uint64),
        ("passes", c_uint64),
        ("chain", c_uint64),
        ("buffers", c_uint64),
        ("held_strips", c_uint64),
        ("rows_per_block", c_uint64),
        ("wave_groups", c_uint64),
        ("rounds", c_uint64),
        ("column_block_vectors", c_uint64),
        ("parallelograms", c_uint64),
        ("parallelogram_columns", c_uint64),
        ("memory_bytes", c_uint64),
        ("memory_bytes_min", c_uint64),
        ("read_bytes", c_uint64),
        ("written_bytes", c_uint64),
        ("waves_to_hide_disk", c_uint64),
        ("time_s", c_double),
        ("disk_bound", c_int),
        ("threads", c_uint32),
    )


class RunOutcome(Structure):
    """lw_wavefront_outcome."""

    _fields_ = (
        ("struct_size", c_uint32),
        ("iterations", c_uint64),
        ("converged", c_int),
        ("last_change", c_double),
        ("waves", c_uint64),
        ("read_bytes", c_uint64),
        ("written_bytes", c_uint64),
        ("peak_memory_bytes", c_uint64),
        ("elapsed_s", c_double),
    )


def members(filled: Structure) -> dict[str, Any]:
    """Return the members of a struct that the library has filled, without its size, by name."""
    names = (field[0] for field in filled._fields_)
    return {name: getattr(filled, name) for name in names if name != "struct_size"}


ARGUMENTS = {
    "create_named": (c_char_p, POINTER(MatrixShape), POINTER(c_char_p), Report, c_void_p,
                     POINTER(c_void_p)),
    "create_in_memory": (POINTER(MatrixShape), POINTER(c_char_p), Report, c_void_p,
                         POINTER(c_void_p)),
    "convert": (c_void_p, c_char_p, POINTER(MatrixShape), c_uint64, Moved, c_void_p),
    "split": (c_void_p, c_uint64, POINTER(c_char_p), c_uint32, Moved, c_void_p),
    "join": (POINTER(c_void_p), c_uint32, c_char_p, Moved, c_void_p),
    "plan_run": (POINTER(MatrixShape), c_char_p, POINTER(c_double), c_size_t,
                 POINTER(RunOptions), Report, c_void_p, POINTER(RunPlan)),
    "plan_run_kernel": (POINTER(MatrixShape), POINTER(Kernel), POINTER(RunOptions), Report,
                        c_void_p, POINTER(RunPlan)),
    "open": (c_char_p, Report, c_void_p, POINTER(c_void_p)),
    "open_reading": (c_char_p, Report, c_void_p, POINTER(c_void_p)),
    "query": (c_void_p, POINTER(MatrixShape), POINTER(c_uint64)),
    "write": (c_void_p, c_uint32, MoveRows, c_void_p),
    "read": (c_void_p, c_uint32, MoveRows, c_void_p),
    "read_rows": (c_void_p, c_uint32, c_uint64, c_uint64, c_void_p),
    "matrix_named": (c_void_p, c_char_p, POINTER(c_uint32)),
    "verify": (c_void_p,),
    "run": (c_void_p, c_char_p, POINTER(c_double), c_size_t, POINTER(RunOptions),
            POINTER(RunOutcome)),
    "run_kernel": (c_void_p, POINTER(Kernel), POINTER(RunOptions), POINTER(RunOutcome)),
    "resume_kernel": (c_void_p, POINTER(Kernel), POINTER(RunOptions), POINTER(RunOutcome)),
    "resume": (c_void_p, POINTER(RunOptions), POINTER(RunOutcome)),
}  # fmt: skip

# Those of <lanewise/wavefront_ranks.h>, which have the communicator before these.
ARGUMENTS_ON_RANKS = {
    name: ARGUMENTS[name] for name in ("run", "run_kernel", "resume", "resume_kernel")
}


@cache
def loaded() -> Any:
    """Load the library of the native build that wins; RequestError where there is none.

    Where the process has mpi4py, a build for its MPI wins, so that there are not two MPIs in it;
    without such a build there are, and sweeps without ranks call neither.
    """
    try:
        native = native_library.load(family_in_use())
    except RequestError:  # an MPI that there is no build for
        native = native_library.load()
    return _with_signatures(native)


@cache
def loaded_for_ranks() -> Any:
    """Return the library with what it has for ranks; RequestError for mpi4py with another MPI."""
    family = family_of(library_version())
    native = loaded()
    if native._name != str(native_library.path_of(family)):
        raise RequestError(
            "lanewise.wavefront was in use before mpi4py, and has loaded its library for another "
            "MPI; import mpi4py.MPI before a store is opened"
        )
    for name, arguments in ARGUMENTS_ON_RANKS.items():
        function = getattr(native, f"lw_wavefront_{name}_on_ranks")
        function.argtypes, function.restype = (communicator_type(), *arguments), c_int
    return native


def _with_signatures(native: Any) -> Any:
    for name, arguments in ARGUMENTS.items():
        function = getattr(native, f"lw_wavefront_{name}")
        function.argtypes, function.restype = arguments, c_int
    native.lw_wavefront_close.argtypes = (c_void_p,)
    native.lw_wavefront_close.restype = None
    native.lw_wavefront_stop.argtypes = (c_void_p,)
    native.lw_wavefront_stop.restype = None
    native.lw_wavefront_matrix_name.argtypes = (c_void_p, c_uint32)
    native.lw_wavefront_matrix_name.restype = c_char_p
    return native


class Failures(Sentences):
    """Collects the sentences of failures, and raises them."""

    def check(self, status: int) -> None:
        """Raise RequestError or RunError with what was reported, unless `status` is success."""
        said, self.reasons = self.reasons, []
        if status != Status.OK:
            raise error_of(status, "; ".join(said) or loaded().lw_status_text(status).decode())


__all__ = ["Failures", "byref", "loaded"]


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return a path as the native library takes it; RequestError for one with what none has.

    It is absolute, so that it still leads there once the program changes its working directory.
    """
    if unusable := unusable_in(os.fsdecode(path)):
        raise RequestError(f"a path cannot contain {unusable}, as in {os.fspath(path)!r}")
    encoded = os.fsencode(path)
    # An empty path is the native library's to refuse, and so is one in a directory that is gone.
    with contextlib.suppress(OSError):
        return os.path.join(os.getcwdb(), encoded) if encoded else encoded  # noqa: PTH109, PTH118
    return encoded
