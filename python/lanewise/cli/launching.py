# SPDX-License-Identifier: BSD-3-Clause
"""How commands launch native ranks: the options that they share, the job, and its end."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli.example import LAUNCH
from lanewise.cli.numbers import positive_count
from lanewise.cli.shared_options import option, with_options
from lanewise.errors import RequestError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Job
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.room import Room
from lanewise.launch.run import Event
from lanewise.launch.run_native import (
    PLAIN,
    Conditions,
    failure_of,
    line_of,
    run_native,
    write_files,
)
from lanewise.suite import asked
from lanewise.suite.asked import Asked

Ranks = Annotated[
    str,
    typer.Option(
        "-n",
        "--ranks",
        metavar="N",
        help="Number of ranks (default: the job's tasks, else the cores, at least 2).",
        rich_help_panel=LAUNCH,
    ),
]
LauncherName = Annotated[
    str,
    typer.Option(
        "--launcher",
        metavar="|".join(LAUNCHERS),
        help="Launcher that starts the ranks (default: that of the job, else the first installed).",
        rich_help_panel=LAUNCH,
    ),
]
TransportName = Annotated[
    str,
    typer.Option(
        "--transport",
        metavar="NAME|FILE",
        help="Transport: a name from suite --list, or a file (default: the MPI's choice).",
        rich_help_panel=LAUNCH,
    ),
]
Host = Annotated[
    str,
    typer.Option(
        "--hosts",
        "--host",
        metavar="A,B,...",
        help="Hosts, with their slots as in a:4,b:4 (default: those of the job, else this one).",
        rich_help_panel=LAUNCH,
    ),
]
Hostfile = Annotated[
    str,
    typer.Option(
        "--hostfile",
        metavar="FILE",
        help="File with one host per line, such as `a slots=4`.",
        rich_help_panel=LAUNCH,
    ),
]
LauncherArguments = Annotated[
    str,
    typer.Option(
        "--launcher-args",
        metavar="TEXT",
        help="Further arguments for the launcher.",
        rich_help_panel=LAUNCH,
    ),
]
PrintCommand = Annotated[
    bool,
    typer.Option("--print-command", help="Print the launch line and stop.", rich_help_panel=LAUNCH),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, not a table.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")]
Rate = Annotated[
    str | None,
    typer.Option(
        "--smpi-rate",
        metavar="RATE",
        help="smpi: rate of each host's link, such as 125MB/s (default: 1Gbit/s).",
        rich_help_panel=LAUNCH,
    ),
]
Latency = Annotated[
    str | None,
    typer.Option(
        "--smpi-latency",
        metavar="TIME",
        help="smpi: latency of each host's link, one way (default: 10us).",
        rich_help_panel=LAUNCH,
    ),
]
Speeds = Annotated[
    str | None,
    typer.Option(
        "--smpi-speeds",
        metavar="SPEED,...",
        help="smpi: speeds of the hosts, such as 2Gflop/s (default: 1Gflop/s).",
        rich_help_panel=LAUNCH,
    ),
]


with_launch_options = with_options(
    [
        option("launcher", LauncherName, ""),
        option("transport", TransportName, ""),
        option("host", Host, ""),
        option("hostfile", Hostfile, ""),
        option("launcher_args", LauncherArguments, ""),
        option("smpi_rate", Rate, None),
        option("smpi_latency", Latency, None),
        option("smpi_speeds", Speeds, None),
        option("print_command", PrintCommand, False),
        option("quiet", Quiet, False),
    ]
)


def chosen(values: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Choice:
    """Return the launcher and native build that --launcher or --transport ask for."""
    return asked.chosen(asked_of(values), environment)


def asked_of(values: Mapping[str, Any]) -> Asked:
    """Return what the parsed options say of a launch."""
    return Asked(
        launcher=values["launcher"],
        transport=values["transport"],
        hosts=values["host"],
        hostfile=values["hostfile"],
        launcher_arguments=launcher_arguments(values["launcher_args"]),
        cluster=asked.cluster_of(
            "--smpi-",
            values["smpi_rate"],
            values["smpi_latency"],
            values["smpi_speeds"],
        ),
    )


def conditions_of(values: Mapping[str, Any]) -> Conditions:
    """Return what the transport sets in the environment of the ranks."""
    return asked.conditions_of(asked_of(values))


def rank_count(choice: Choice, values: Mapping[str, Any]) -> int:
    """Return the number of ranks asked for: without -n what there is room for, at least 2."""
    return positive_count("-n", values["ranks"] or str(room_of(choice, values).ranks))


def room_of(choice: Choice, values: Mapping[str, Any]) -> Room:
    """Return where ranks go: hosts of the options or of the transport, the job's, or this one."""
    return asked.room_of(asked_of(values), choice)


def job_running(
    choice: Choice, values: Mapping[str, Any], folder: Path, program: Sequence[str], ranks: int
) -> Job:
    """Return the launch of a native program, by name and with its arguments."""
    return asked.job_running(asked_of(values), choice, folder, program, ranks)


def launcher_arguments(text: str) -> tuple[str, ...]:
    """Split --launcher-args the way a shell does; RequestError for an open quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise RequestError(f"--launcher-args '{text}': {str(error).lower()}") from None


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


def tell(job: Job) -> None:
    """Print what a user should know of a launch, such as that its ranks share cores."""
    for line in job.notice.splitlines():
        sys.stderr.write(f"lanewise: {line}\n")


def show_command(choice: Choice, job: Job, values: Mapping[str, Any]) -> None:
    """Print the launch line as one would type it, with its variables in front."""
    write_files(choice.launcher, job)
    tell(job)
    variables = [f"{key}={text}" for key, text in choice.launcher.environment(job).items()]
    typer.echo(shlex.join([*variables, *line_of(choice, job, conditions_of(values))]))


def show_list(key: str, names: str, values: Mapping[str, Any]) -> None:
    """Print the names that a native program lists, one per line, or as one JSON object."""
    typer.echo(json.dumps({key: names.split()}) + "\n" if values["as_json"] else names, nl=False)


def launch(
    command: str,
    choice: Choice,
    job: Job,
    on_event: Callable[[Event], None],
    *,
    done: Callable[[], bool],
    kept: Callable[[], str],
    earlier: str = "",
    conditions: Conditions = PLAIN,
) -> None:
    """Launch `job` for a command and wait for its end.

    Ends the command with status 130 where it is interrupted, and raises RequestError or RunError
    where the ranks failed or were not `done`; both say what is `kept`, or what `earlier` launches
    left where this one did not start.  The notice of the job comes once ranks are at work: those
    that refuse their arguments have one line on standard error.
    """
    told: list[Job] = []

    def on_each(event: Event) -> None:
        if event["event"] != "start" and not told:
            tell(job)
            told.append(job)
        on_event(event)

    try:
        outcome = run_native(choice, job, on_each, conditions)
    except KeyboardInterrupt:
        sys.stderr.write(f"lanewise {command}: stopped {kept()}\n")
        raise typer.Exit(130) from None
    if outcome.status != 0 or not done():
        raise failure_of(choice, outcome, kept(), earlier)
