# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI: mpirun (mpirun.openmpi where Debian has several MPIs side by side).

mpirun refuses more ranks than slots unless told that they may share (--oversubscribe), and refuses
root unless told twice, by environment.  With a list of hosts the slots are the user's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.launch.job import Job, Launcher


def command(job: Job) -> list[str]:
    """Return the mpirun line for `job`."""
    line = [job.executable, "-n", str(job.ranks)]
    if job.hostfile:
        line += ["--hostfile", job.hostfile]
    if job.hosts:
        line += ["--host", ",".join(job.hosts)]
    if job.ranks > job.cores and not job.hosts and not job.hostfile:
        line += ["--oversubscribe"]
    return [*line, *job.launcher_arguments, *job.program]


def environment(job: Job) -> Mapping[str, str]:
    """Return the two variables that let root launch; nothing for anyone else."""
    if job.user_id != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def with_variables(line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return `line` with variables for the ranks; each program of an MPMD line needs its own."""
    given = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    words = [line[0], *given]
    for word in line[1:]:
        words += [word, *given] if word == ":" else [word]
    return words


LAUNCHER = Launcher(
    name="openmpi",
    title="Open MPI",
    executables=("mpirun.openmpi", "mpirun"),
    mpis=("openmpi",),
    package="openmpi-bin libopenmpi-dev",
    mark="Open",
    bind="--bind-to",
    rank_variables=("OMPI_COMM_WORLD_", "PMIX_"),
    command=command,
    environment=environment,
    with_variables=with_variables,
)
