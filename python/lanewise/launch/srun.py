# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun.

The two MPIs find their peers through different process managers: without the right --mpi each rank
would believe that it is alone (open-mpi/ompi issue 13523), so it is always named.  srun takes a
file for --nodelist where the value has a slash in it.
"""

from __future__ import annotations

from lanewise.launch.job import Fabric, Job

PROCESS_MANAGERS = {"openmpi": "pmix", "mpich": "pmi2"}


def command(job: Job) -> list[str]:
    """Return the srun line for `job`."""
    line = [job.launcher, f"--ntasks={job.ranks}", f"--mpi={PROCESS_MANAGERS[job.mpi]}"]
    if job.hostfile:
        path = job.hostfile if "/" in job.hostfile else f"./{job.hostfile}"
        line += [f"--nodelist={path}"]
    if job.hosts:
        line += [f"--nodelist={','.join(job.hosts)}"]
    if job.ranks > job.cores and not job.hosts and not job.hostfile:
        line += ["--overcommit"]
    return [*line, *job.launcher_arguments, *job.program]


FABRIC = Fabric(
    name="srun",
    title="Slurm",
    launchers=("srun",),
    mpis=("openmpi", "mpich"),
    package="slurm-client",
    mark="slurm",
    command=command,
)
