# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI: mpirun (mpirun.openmpi where Debian has several MPIs side by side).

mpirun refuses more ranks than slots unless told that they may share (--oversubscribe), and refuses
root unless told twice, by environment.  A host that is named without slots has one.  In a Slurm job
the slots are the tasks of each host, or all its CPUs where a parameter says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.launch.hosts import spread
from lanewise.launch.job import Job, Launcher

# PRRTE, which is the mpirun of Open MPI 5, has a prefix of its own.
PREFIXES = ("OMPI", "PRTE")
WHOLE_JOB = "ras_slurm_use_entire_allocation"
# After it has asked ranks to end, mpirun waits so many seconds before it kills them, even if they
# are gone by then. Ranks of ours end when they are asked, and what they measured is in the file.
BEFORE_KILL = "odls_base_sigkill_timeout"
# What it says in a network of its own whose loopback interface is down.
NO_NETWORK = "unable to find network interfaces"


def command(job: Job) -> list[str]:
    """Return the mpirun line for `job`."""
    line = [job.executable, "-n", str(job.ranks)]
    if job.hostfile:
        line += ["--hostfile", job.hostfile]
    if job.hosts:
        line += ["--host", ",".join(spread(job.hosts, job.ranks))]
    if job.oversubscribed:
        line += ["--oversubscribe"]
    return [*line, *job.launcher_arguments, *job.program]


def environment(job: Job) -> Mapping[str, str]:
    """Return what lets root launch, and what makes CPUs slots where a job has few tasks."""
    variables: dict[str, str] = {}
    if job.user_id == 0:
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if job.scheduler == "Slurm" and job.slots is not None and job.ranks > job.slots:
        variables |= {f"{prefix}_MCA_{WHOLE_JOB}": "1" for prefix in PREFIXES}
    return variables


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
    remedies={NO_NETWORK: "bring up the loopback interface: ip link set lo up"},
    at_end={f"{prefix}_MCA_{BEFORE_KILL}": "0" for prefix in PREFIXES},
    with_variables=with_variables,
)
