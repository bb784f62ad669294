# SPDX-License-Identifier: BSD-3-Clause
"""MPICH: mpiexec by Hydra (mpiexec.mpich where Debian has several MPIs side by side)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.launch.job import Job, Launcher


def command(job: Job) -> list[str]:
    """Return the mpiexec line for `job`; Hydra shares cores among ranks without being told."""
    line = [job.executable, "-n", str(job.ranks)]
    if job.hostfile:
        line += ["-f", job.hostfile]
    if job.hosts:
        line += ["-hosts", ",".join(job.hosts)]
    return [*line, *job.launcher_arguments, *job.program]


def with_variables(line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return `line` with variables for the ranks of all its programs."""
    given = [word for name, value in variables.items() for word in ("-genv", name, value)]
    return [line[0], *given, *line[1:]]


LAUNCHER = Launcher(
    name="mpich",
    title="MPICH",
    executables=("mpiexec.mpich", "mpiexec.hydra", "mpiexec"),
    mpis=("mpich",),
    package="mpich libmpich-dev",
    mark="HYDRA",
    bind="-bind-to",
    rank_variables=("PMI_",),
    command=command,
    with_variables=with_variables,
)
