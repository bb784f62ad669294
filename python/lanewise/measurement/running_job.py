# SPDX-License-Identifier: BSD-3-Clause
"""Whether this process is a rank of a running job, and the communicator of all its ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanewise.errors import RequestError

# How many ranks a launcher says that there are, and which of them this one is. A notebook inside of
# a batch job has variables of Slurm or Flux and none of these.
COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


def is_rank(environment: Mapping[str, str]) -> bool:
    """Tell whether an MPI launcher started this process."""
    return any(name in environment for name in NUMBERS)


def world(environment: Mapping[str, str]) -> Any:
    """Return mpi4py's communicator of all ranks of the job that this process is a rank of.

    Raises RequestError where mpi4py is missing, or is built with another MPI than the launcher's.
    """
    try:
        from mpi4py import MPI  # noqa: PLC0415
    except (ImportError, RuntimeError) as error:
        raise RequestError(
            f"this process is a rank of a running job, and mpi4py cannot be used ({error}); "
            "install mpi4py, or start the program without an MPI launcher"
        ) from None
    comm = MPI.COMM_WORLD
    counts = [int(environment[name]) for name in COUNTS if environment.get(name, "").isdigit()]
    if counts and comm.size == 1 and max(counts) > 1:
        library = str(MPI.Get_library_version()).split(",")[0].splitlines()[0]
        raise RequestError(
            f"the job has {max(counts)} ranks, and mpi4py sees one: it is built with {library}; "
            "use the launcher of that MPI"
        )
    return comm
