# SPDX-License-Identifier: BSD-3-Clause
"""Flux: `flux run`.

Flux speaks PMI-1 by itself, which MPICH understands; Open MPI needs the pmix shell plugin
(flux-pmix).  It starts ranks only within an instance of Flux.  The client of Flux CD, which is for
Kubernetes, is called flux as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.errors import RequestError
from lanewise.launch.hosts import hosts_in
from lanewise.launch.job import Job, Launcher

ASKS_INSTANCE = ("getattr", "size")


def command(job: Job) -> list[str]:
    """Return the `flux run` line for `job`; RequestError for what Flux has not."""
    if job.hostfile:
        raise RequestError("flux run takes no host file; name the hosts with --hosts a,b")
    line = [job.executable, "run", f"--ntasks={job.ranks}"]
    if job.mpi == "openmpi":
        line += ["--setopt=pmi=pmix"]
    if job.hosts:
        hosts = [host for word in job.hosts for host in hosts_in(word)]
        if any(host.slots is not None for host in hosts):
            raise RequestError("flux run takes no slots; name the hosts alone, as in --hosts a,b")
        line += [f"--requires=host:{','.join(host.name for host in hosts)}"]
    return [*line, *job.launcher_arguments, *job.program]


def with_variables(line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return `line`, whose second word is run, with variables for the ranks."""
    given = [f"--env={name}={value}" for name, value in variables.items()]
    return [*line[:2], *given, *line[2:]]


LAUNCHER = Launcher(
    name="flux",
    title="Flux",
    executables=("flux",),
    mpis=("mpich", "openmpi"),
    package="flux-core (Spack, or your distribution)",
    mark="libflux-core",
    queues=True,
    rank_variables=("FLUX_TASK_",),
    command=command,
    with_variables=with_variables,
    version_arguments=("version",),
    ready_arguments=ASKS_INSTANCE,
    remedies={
        " ".join(ASKS_INSTANCE): "work in an instance of Flux, "
        "begun by flux start, flux alloc or flux batch"
    },
)
