# SPDX-License-Identifier: BSD-3-Clause
"""How commands launch native ranks: the options that they share, the job, and its end."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli.numbers import positive_count, positive_number
from lanewise.errors import RequestError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Cluster, Job
from lanewise.launch.machine import core_count
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.run import Event
from lanewise.launch.run_native import failure_of, run_native, write_files

Ranks = Annotated[
    str, typer.Option("-n", "--ranks", metavar="N", help="Default: the cores, at least 2.")
]
LauncherName = Annotated[
    str, typer.Option("--launcher", metavar="|".join(LAUNCHERS), help="Default: the first present.")
]
Host = Annotated[str, typer.Option("--host", metavar="A,B,...", help="Hosts to run on.")]
Hostfile = Annotated[str, typer.Option("--hostfile", metavar="FILE", help="Hosts to run on.")]
LauncherArguments = Annotated[
    str, typer.Option("--launcher-args", metavar="TEXT", help="More arguments for the launcher.")
]
PrintCommand = Annotated[bool, typer.Option("--print-command", help="Show the launch line only.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, only the table.")]
Rate = Annotated[
    str, typer.Option("--smpi-rate", metavar="BYTES/S", help="smpi: rate of a host's link.")
]
Latency = Annotated[
    str, typer.Option("--smpi-latency", metavar="S", help="smpi: latency of a host's link.")
]
Speeds = Annotated[
    str, typer.Option("--smpi-speeds", metavar="F,...", help="smpi: flops of the hosts, in turn.")
]


def rank_count(values: Mapping[str, Any]) -> int:
    """Return the number of ranks asked for: without -n the cores, at least 2."""
    return positive_count("-n", values["ranks"] or str(max(2, core_count())))


def job_running(
    choice: Choice, values: Mapping[str, Any], folder: Path, program: Sequence[str], ranks: int
) -> Job:
    """Return the launch of a native program, by name and with its arguments."""
    return Job(
        program=(str(choice.build.program(program[0])), *program[1:]),
        ranks=ranks,
        executable=choice.executable,
        mpi=choice.build.mpi,
        cores=core_count(),
        user_id=os.getuid(),
        hosts=tuple(name for name in values["host"].split(",") if name),
        hostfile=values["hostfile"],
        launcher_arguments=launcher_arguments(values["launcher_args"]),
        folder=folder,
        cluster=cluster_of(values),
    )


def launcher_arguments(text: str) -> tuple[str, ...]:
    """Split --launcher-args the way a shell does; RequestError for an open quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise RequestError(f"--launcher-args '{text}': {str(error).lower()}") from None


def cluster_of(values: Mapping[str, Any]) -> Cluster:
    """Return the cluster that smpi simulates."""
    option, speeds = "--smpi-speeds", values["smpi_speeds"]
    return Cluster(
        rate_bytes_per_s=positive_number("--smpi-rate", values["smpi_rate"], "125e6"),
        latency_s=positive_number("--smpi-latency", values["smpi_latency"], "10e-6"),
        speeds_flops=tuple(positive_number(option, word, "1e9,2e9") for word in speeds.split(",")),
    )


@contextmanager
def job_folder(choice: Choice, values: Mapping[str, Any]) -> Iterator[Path]:
    """Give a folder for the launcher's files: kept for --print-command, whose line names them."""
    if not choice.launcher.simulates:
        yield Path()
    elif values["print_command"]:
        yield Path(tempfile.mkdtemp(prefix="lanewise-smpi-"))
    else:
        with tempfile.TemporaryDirectory(prefix="lanewise-smpi-") as name:
            yield Path(name)


def show_command(choice: Choice, job: Job) -> None:
    """Print the launch line as one would type it, with its variables in front."""
    write_files(choice.launcher, job)
    variables = [f"{key}={text}" for key, text in choice.launcher.environment(job).items()]
    typer.echo(shlex.join([*variables, *choice.launcher.command(job)]))


def launch(
    command: str,
    choice: Choice,
    job: Job,
    on_event: Callable[[Event], None],
    *,
    done: Callable[[], bool],
    kept: Callable[[], str],
) -> None:
    """Launch `job` for a command and wait for its end.

    Ends the command with status 130 where it is interrupted, and raises RequestError or RunError
    where the ranks failed or were not `done`; both say what is `kept`.
    """
    try:
        outcome = run_native(choice, job, on_event)
    except KeyboardInterrupt:
        sys.stderr.write(f"lanewise {command}: stopped {kept()}\n")
        raise typer.Exit(130) from None
    if outcome.status != 0 or not done():
        raise failure_of(choice, outcome, kept())
