# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure`: launch native ranks, show what they find, and say what is kept.

Refuse, plan, launch: whatever can be refused is refused before a rank starts.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli import native_options as native
from lanewise.cli.numbers import positive_count, positive_number
from lanewise.cli.progress import Seen, progress
from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.job import Cluster, Job
from lanewise.launch.machine import core_count
from lanewise.launch.native import MEASURE
from lanewise.launch.plan import ask, plan, sentence_in, write_files
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.run import Outcome, run

SHOWN_LINES = 10

Operations = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OPERATION...", help="scatter, ibcast, pingpong, pairs, ... (see --list)."
    ),
]
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
ListOperations = Annotated[bool, typer.Option("--list", help="List the operations.")]
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


def register(app: typer.Typer) -> None:
    """Add the command `measure` to `app`."""
    app.command("measure")(measure)


def measure(
    context: typer.Context,
    operations: Operations = None,
    ranks: Ranks = "",
    output: native.Output = None,
    resume: native.Resume = False,
    validate: native.Validate = False,
    libraries: native.Libraries = None,
    sizes: native.Sizes = None,
    adaptive: native.Adaptive = None,
    stride: native.Stride = None,
    root: native.Root = None,
    method: native.Method = None,
    start: native.Start = None,
    rule: native.Rule = None,
    confidence: native.Confidence = None,
    error: native.Error = None,
    repetitions: native.Repetitions = None,
    warmup: native.Warmup = None,
    time_limit: native.TimeLimit = None,
    pipeline: native.Pipeline = None,
    window: native.Window = None,
    buffers: native.Buffers = None,
    intervals: native.Intervals = None,
    work: native.Work = None,
    weights: native.Weights = None,
    reply: native.Reply = None,
    order: native.Order = None,
    clock: native.Clock = None,
    resync: native.Resync = None,
    skew_offset: native.SkewOffset = None,
    skew_drift: native.SkewDrift = None,
    seed: native.Seed = None,
    wait: native.Wait = None,
    launcher: LauncherName = "",
    host: Host = "",
    hostfile: Hostfile = "",
    launcher_args: LauncherArguments = "",
    smpi_rate: Rate = "125e6",
    smpi_latency: Latency = "10e-6",
    smpi_speeds: Speeds = "1e9",
    print_command: PrintCommand = False,
    list_operations: ListOperations = False,
    quiet: Quiet = False,
) -> None:
    """$ lanewise measure scatter gather -n 4 --sizes 1:1M:x2 -o samples.jsonl

    Measure MPI operations.

    Each point is repeated until the interval of its median is narrow enough; every sample is
    kept.  `lanewise measure pairs` measures all pairs of ranks, `lanewise measure clock`
    how well the ranks' clocks can be synchronised, `lanewise measure lanes -o platform.json`
    what lanes between sites carry.
    """
    values = context.params
    choice = choose(launcher, os.environ)
    with job_folder(choice, values) as folder:
        if operations == ["lanes"]:
            # It launches as this module does, so it stands above it.
            from lanewise.cli.lanes import measure_lanes

            measure_lanes(choice, values, folder)
        else:
            measure_operations(choice, values, folder)


def measure_operations(choice: Choice, values: Mapping[str, Any], folder: Path) -> None:
    """Plan what the parsed options ask for, and measure it unless only a list or line is wanted."""
    job = job_of(choice, values, folder)
    if values["list_operations"]:
        typer.echo(ask(choice.launcher, job, "--list"), nl=False)
        return
    if not values["print_command"]:
        refuse_output(values)
    planned = plan(choice.launcher, job)
    if values["print_command"]:
        show_command(choice, job)
        return
    require_launcher(choice)
    measure_planned(choice, job, values, planned.points)


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path) -> Job:
    """Return the launch that the parsed options ask for."""
    ranks = positive_count("-n", values["ranks"] or str(max(2, core_count())))
    arguments = native.native_arguments(values)
    arguments += [f"--ranks={ranks}", f"--launcher={choice.launcher.name}"]
    return job_running(choice, values, folder, (MEASURE, *arguments), ranks)


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


def refuse_output(values: Mapping[str, Any]) -> None:
    """Raise RequestError where FILE cannot be written, exists, or cannot be gone on with."""
    if values["output"] is None:
        if values["resume"]:
            raise RequestError("--resume needs the file to go on with; add -o FILE")
        return
    from lanewise.results.read import load

    path = Path(values["output"])
    if path.is_dir():
        raise RequestError(f"{path} is a folder; name a file in it")
    if path.exists() and not values["resume"]:
        raise RequestError(f"{path} exists; add --resume to go on with it, or name another")
    try:
        if path.exists():
            path.open("r+b").close()
            if path.stat().st_size:
                load(path)
        else:
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise RequestError(
            f"{path} cannot be written: {(error.strerror or 'error').lower()}; name another"
        ) from None


def show_command(choice: Choice, job: Job) -> None:
    """Print the launch line as one would type it, with its variables in front."""
    write_files(choice.launcher, job)
    variables = [f"{key}={text}" for key, text in choice.launcher.environment(job).items()]
    typer.echo(shlex.join([*variables, *choice.launcher.command(job)]))


def measure_planned(choice: Choice, job: Job, values: Mapping[str, Any], points: int) -> None:
    """Launch `job`, show its points, and raise RunError that says what is kept if it fails."""
    with_events = Job(**{**vars(job), "program": (*job.program, "--events")})
    write_files(choice.launcher, with_events)
    line = choice.launcher.command(with_events)
    rule = values["rule"] or "median"
    seen = Seen(points=points)
    try:
        with progress(seen, rule, "quiet" if values["quiet"] else "shown") as on_event:
            outcome = run(line, choice.launcher.environment(job), on_event)
    except KeyboardInterrupt:
        sys.stderr.write(f"lanewise measure: stopped {kept(seen, values)}\n")
        raise typer.Exit(130) from None
    if outcome.status != 0 or not seen.ended:
        raise_failure(choice, outcome, seen, kept(seen, values))
    if values["output"]:
        sys.stderr.write(f"{seen.done} points in {values['output']}\n")


def kept(seen: Seen, values: Mapping[str, Any]) -> str:
    """Say how far the measurement came and how to go on with it."""
    where = f"after {seen.done} of {seen.points} points"
    if not values["output"]:
        return f"{where}; nothing is kept without -o FILE"
    return f"{where}, kept in {values['output']}; the same command with --resume goes on"


def raise_failure(choice: Choice, outcome: Outcome, seen: Seen, what_is_kept: str) -> None:
    """Raise the error that a failed launch amounts to, the last words of the MPI shown first."""
    sentence = sentence_in(list(outcome.output))
    if outcome.status == 2 and sentence:
        raise RequestError(sentence)
    if sentence:
        raise RunError(f"{sentence} ({what_is_kept})")
    for text in list(outcome.output)[-SHOWN_LINES:]:
        sys.stderr.write(f"  | {text}\n")
    status = f"{Path(choice.executable).name} ended with status {outcome.status}"
    if not seen.started:
        raise RunError(f"the ranks did not start: {status}; lanewise doctor may say why")
    raise RunError(f"a rank died: {status} {what_is_kept}")
