# SPDX-License-Identifier: BSD-3-Clause
"""Which MPI mpi4py has loaded, and how C functions of Lanewise take its communicators.

A communicator is an address in one MPI and a number in another, so both the library and the type of
that argument follow from the MPI.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from lanewise.errors import RequestError

FAMILIES = {"Open MPI": "openmpi", "MPICH": "mpich"}


def family_of(library_version: str) -> str:
    """Return the MPI family that a version text names; RequestError for one without a build."""
    for name, family in FAMILIES.items():
        if name in library_version:
            return family
    first = library_version.splitlines()[0] if library_version else "unknown"
    raise RequestError(f"mpi4py is built with an MPI that Lanewise has no build for: {first}")


def library_version() -> str:
    """Return what the MPI of mpi4py says of its version."""
    from mpi4py import MPI  # noqa: PLC0415

    return str(MPI.Get_library_version())


def family_in_use() -> str:
    """Return the family of the MPI that this process has by mpi4py, empty where it has none."""
    if "mpi4py.MPI" not in sys.modules:
        return ""
    return family_of(library_version())


def refuse_single_thread() -> None:
    """Raise RequestError where the MPI serves one thread only."""
    from mpi4py import MPI  # noqa: PLC0415

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise RequestError(
            "the MPI serves one thread only, and rows are exchanged by another; set "
            'mpi4py.rc.thread_level = "serialized" before mpi4py.MPI is imported'
        )


def communicator_type() -> Any:
    """Return the ctypes type of a communicator."""
    from mpi4py import MPI  # noqa: PLC0415

    is_address = MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_void_p)
    return ctypes.c_void_p if is_address else ctypes.c_int


def handle_of(comm: Any) -> int:
    """Return a communicator as C has it."""
    from mpi4py import MPI  # noqa: PLC0415

    return int(MPI._handleof(comm))
