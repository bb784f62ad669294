# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun.

The two MPIs find their peers through different process managers: without the right --mpi each rank
would believe that it is alone (open-mpi/ompi issue 13523), so it is always named.  srun takes a
file for --nodelist where the value has a slash in it, and adds hosts to those that are named unless
their number is given too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanewise.errors import RequestError
from lanewise.launch.hosts import hosts_in
from lanewise.launch.job import Job, Launcher
from lanewise.launch.pmi_plugin import USUAL
from lanewise.launch.program import options_count, place_of_program


def command(job: Job) -> list[str]:
    """Return the srun line for `job`."""
    line = [
        job.executable,
        f"--ntasks={job.ranks}",
        f"--mpi={job.pmi_plugin or USUAL[job.mpi]}",
    ]
    if job.step:
        line += ["--overlap"]
    if job.hostfile:
        path = job.hostfile if "/" in job.hostfile else f"./{job.hostfile}"
        line += [f"--nodelist={path}"]
    if job.hosts:
        line += on_hosts(job.hosts)
    if job.oversubscribed:
        line += ["--overcommit"]
    if job.slots is not None and job.ranks > job.slots:
        # A job may ask for several CPUs per task, which srun would ask for again for each rank.
        line += ["--cpus-per-task=1"]
    return [*line, *job.launcher_arguments, *job.program]


def on_hosts(words: Sequence[str]) -> list[str]:
    """Return the options that put ranks on hosts, each with the same number of slots."""
    hosts = [host for word in words for host in hosts_in(word)]
    names = [host.name for host in hosts]
    slots = {host.slots for host in hosts}
    if len(slots) > 1:
        raise RequestError(
            f"srun gives every host the same number of slots, not {','.join(words)}; "
            "leave the slots out, or use --launcher openmpi or mpich"
        )
    each = [f"--ntasks-per-node={count}" for count in slots if count is not None]
    return [f"--nodes={len(names)}", f"--nodelist={','.join(names)}", *each]


def options_in(words: Sequence[str]) -> Sequence[str]:
    """Return the words before the program: before one that is there, or behind options we know."""
    place = place_of_program(words, "srun", search=None)
    return words[: place if place < len(words) else options_count(words, "srun")]


def with_variables(line: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Return `line` with variables for the ranks; srun takes one list of them, with commas.

    A value with a comma reaches the ranks by the environment of srun, where LD_PRELOAD would be
    for srun as well.
    """
    options = options_in(line[1:])
    if any(word == "--export" or word.startswith("--export=") for word in options):
        raise RequestError("srun takes one --export; leave it out and set the variables before")
    settings = [f"{name}={value}" for name, value in variables.items()]
    if "," in variables.get("LD_PRELOAD", ""):
        raise RequestError("srun separates variables by commas; use paths without commas")
    inherited = [setting for setting in settings if "," in setting]
    given = ",".join(["ALL", *(setting for setting in settings if "," not in setting)])
    before = ["env", *inherited] if inherited else []
    return [*before, line[0], f"--export={given}", *line[1:]]


LAUNCHER = Launcher(
    name="srun",
    title="Slurm",
    executables=("srun",),
    mpis=("openmpi", "mpich"),
    package="slurm-client",
    mark="slurm",
    queues=True,
    rank_variables=("SLURM_PROCID",),
    command=command,
    with_variables=with_variables,
)
