# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun.

The two MPIs find their peers through different process managers: without the right --mpi each rank
would believe that it is alone (open-mpi/ompi issue 13523), so it is always named.  srun takes a
file for --nodelist where the value has a slash in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.errors import RequestError
from lanewise.launch.job import Job, Launcher

PROCESS_MANAGERS = {"openmpi": "pmix", "mpich": "pmi2"}


def command(job: Job) -> list[str]:
    """Return the srun line for `job`."""
    line = [job.executable, f"--ntasks={job.ranks}", f"--mpi={PROCESS_MANAGERS[job.mpi]}"]
    if job.hostfile:
        path = job.hostfile if "/" in job.hostfile else f"./{job.hostfile}"
        line += [f"--nodelist={path}"]
    if job.hosts:
        line += [f"--nodelist={','.join(job.hosts)}"]
    if job.ranks > job.cores and not job.hosts and not job.hostfile:
        line += ["--overcommit"]
    return [*line, *job.launcher_arguments, *job.program]


def with_variables(line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return `line` with variables for the ranks; srun knows one list of them, parted by commas."""
    if any(word == "--export" or word.startswith("--export=") for word in line):
        raise RequestError("srun takes one --export; leave it out and set the variables before")
    if any("," in value for value in variables.values()):
        raise RequestError("srun parts variables by commas; use paths without commas")
    given = ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())])
    return [line[0], f"--export={given}", *line[1:]]


LAUNCHER = Launcher(
    name="srun",
    title="Slurm",
    executables=("srun",),
    mpis=("openmpi", "mpich"),
    package="slurm-client",
    mark="slurm",
    rank_variables=("SLURM_PROCID",),
    command=command,
    with_variables=with_variables,
)
