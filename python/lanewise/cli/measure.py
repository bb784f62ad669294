# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure`: launch native ranks, show what they find, and say what is kept.

Refuse, plan, launch: whatever can be refused is refused before a rank starts.  The ranks are
launched several times, since a launch says little about the next; all launches write one file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.cli import launching
from lanewise.cli.file_names import require_file_name
from lanewise.cli.growing_table import Seen, collect, take
from lanewise.cli.lanes import measure_lanes, refuse_unused
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted, positive_count, share
from lanewise.cli.progress import Display, progress
from lanewise.cli.terminal import columns_shown
from lanewise.errors import RequestError
from lanewise.files.whole import require_place
from lanewise.launch import several
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import MEASURE
from lanewise.launch.plan import ask, plan
from lanewise.launch.run import Event
from lanewise.launch.several import ALONE, LAUNCHES
from lanewise.results.launches import key_of

if TYPE_CHECKING:
    from lanewise.cli.looped_table import LoopedTable

NATIVE = NativeOptions(MEASURE)

Launches = Annotated[
    str,
    typer.Option(
        "--launches",
        metavar="N",
        help=f"Number of launches; intervals are computed over them (default: {LAUNCHES}; 1 for "
        f"smpi, --adaptive, {', '.join(ALONE[:-1])} and {ALONE[-1]}).",
        rich_help_panel="How it is measured",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command `measure` to `app`."""
    NATIVE.add_to(app, "measure", measure)


@launching.with_launch_options
def measure(
    context: typer.Context,
    ranks: launching.Ranks = "",
    launches: Launches = "",
    as_json: launching.AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise measure scatter gather -n 4 --sizes 1:1M:x2 -o samples.jsonl

    Measure MPI operations.

    Each point is repeated until the interval of its median is narrow enough, in several launches
    of the ranks.  The tables combine the launches; the file keeps every sample.
    `lanewise measure pairs` measures all pairs of ranks, `lanewise measure clock` how well the
    ranks' clocks can be synchronised, `lanewise measure lanes -o platform.json` the bandwidth of
    lanes between sites.
    """
    values = context.params
    require_file_name("-o", values["output"])
    measures_lanes = tuple(values["operations"]) == ("lanes",)
    if measures_lanes:
        refuse_unused(context)
    choice = launching.chosen(values)
    with launching.job_folder(choice, values) as folder:
        if measures_lanes:
            measure_lanes(choice, values, folder)
        else:
            measure_operations(choice, values, folder)


def measure_operations(choice: Choice, values: Mapping[str, Any], folder: Path) -> None:
    """Plan what the parsed options ask for, and measure it unless only a list or line is wanted."""
    launches = launches_of(choice, values)
    job = job_of(choice, values, folder)
    if values["list"]:
        launching.show_list("operations", ask(choice.launcher, job, "--list"), values)
        return
    if not values["print_command"]:
        refuse_output(values)
    planned = plan(choice.launcher, job)
    if values["print_command"]:
        for launch in range(1, launches + 1):
            launching.show_command(choice, launch_job(job, launch, launches, values), values)
            job = replace(job, notice="")
        return
    require_launcher(choice)
    seen = Seen(points=planned.points, launches=launches, columns=columns_shown())
    measure_planned(choice, job, values, seen)


def launches_of(choice: Choice, values: Mapping[str, Any]) -> int:
    """Return how many times to launch the ranks; RequestError where several make no sense."""
    asked = positive_count("--launches", values["launches"]) if values["launches"] else None
    operations = values["operations"] or ()
    return several.launches_of(
        choice.launcher, operations, asked, adaptive=bool(values["adaptive"])
    )


def launch_job(job: Job, launch: int, launches: int, values: Mapping[str, Any]) -> Job:
    """Return the job of one launch: those after the first go on with the file of the first."""
    gone_on = launch > 1 and bool(values["output"]) and not values["resume"]
    return several.launch_job(job, launch, launches, gone_on=gone_on)


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path) -> Job:
    """Return the launch that the parsed options ask for."""
    ranks = launching.rank_count(choice, values)
    arguments = NATIVE.arguments(values)
    further = launching.launcher_arguments(values["launcher_args"])
    arguments += [f"--ranks={ranks}", *recorded(choice, values["transport"], further)]
    return launching.job_running(choice, values, folder, (MEASURE, *arguments), ranks)


def refuse_output(values: Mapping[str, Any]) -> None:
    """Raise RequestError where FILE cannot be written, exists, or cannot be gone on with."""
    if values["output"] is None:
        if values["resume"]:
            raise RequestError("--resume needs the file to go on with; add -o FILE")
        return
    from lanewise.results.read import load

    path = Path(values["output"])
    require_place(path)
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


def measure_planned(choice: Choice, job: Job, values: Mapping[str, Any], seen: Seen) -> None:
    """Launch `job` as often as `seen` says, show the points, and say what is kept if one fails."""
    stopping = {"rule": values["rule"] or "median", "confidence": confidence_of(values)}
    display: Display = "quiet" if values["quiet"] or values["as_json"] else "shown"
    records: list[Event] = []
    looped = looped_table(values, job.ranks, stopping) if values["as_"] else None

    def shown(event: Event) -> None:
        if values["as_json"]:
            collect(event, seen, records)
        elif looped is not None:
            looped.take(event, seen)
        else:
            take(event, seen, stopping)

    first = recall(values, seen)
    with progress(seen, shown, display) as on_event:
        for launch in range(first, seen.launches + 1):
            seen.begin(launch)
            one = launch_job(job, launch, seen.launches, values)
            launching.launch(
                "measure", choice, replace(one, program=(*one.program, "--events")), on_event,
                done=lambda: seen.ended, kept=lambda: kept(seen, values),
                earlier=earlier_launches(launch - 1, values) if launch > first else "",
                conditions=launching.conditions_of(values),
            )  # fmt: skip
            job = replace(job, notice="")
    if values["as_json"]:
        typer.echo(json.dumps({"records": records}))
    if values["output"]:
        points = counted(points_in_file(values, seen), "point")
        sys.stderr.write(f"{points} in {values['output']}\n")


def points_in_file(values: Mapping[str, Any], seen: Seen) -> int:
    """Return how many results the file holds, of which some may be older than this measurement."""
    if not values["resume"]:
        return seen.done
    from lanewise.results.read import load

    samples = load(Path(values["output"]))
    return len([*samples.launch_points, *samples.polling, *samples.waiting])


def confidence_of(values: Mapping[str, Any]) -> float:
    """Return the confidence level of the intervals."""
    return share("--confidence", NATIVE.value("confidence", values))


def recall(values: Mapping[str, Any], seen: Seen) -> int:
    """Take in what the file that is resumed holds; return the launch that it ends with.

    Without --launches the file says how many there are to be.
    """
    path = Path(values["output"] or "")
    if not values["resume"] or not path.is_file() or not path.stat().st_size:
        return 1
    from lanewise.results.read import load

    samples = load(path)
    for point in samples.launch_points:
        seen.earlier.setdefault(key_of(point), []).append(point)
    if not values["launches"]:
        seen.launches = samples.context.launches
    return min(samples.launches, seen.launches)


def looped_table(values: Mapping[str, Any], ranks: int, stopping: Mapping[str, Any]) -> LoopedTable:
    """Return the table of another tool, whose loop the ranks run."""
    from lanewise.cli.looped_table import LoopedTable
    from lanewise.suite.printed_as import Layout

    window = int(values["window"] or 0)
    return LoopedTable(Layout(values["as_"], ranks, window), stopping)


def earlier_launches(count: int, values: Mapping[str, Any]) -> str:
    """Say what the launches before one that does not start left; empty where there were none."""
    if count == 0:
        return ""
    which = "launch 1" if count == 1 else f"launches 1 to {count}"
    verb = "is" if count == 1 else "are"
    if not values["output"]:
        return f"{which} {verb} not kept without -o FILE"
    return (
        f"{which} {verb} kept in {values['output']}, and the same command with --resume continues"
    )


def kept(seen: Seen, values: Mapping[str, Any]) -> str:
    """Say how far the measurement came and how to go on with it."""
    where = f"after {seen.done} of {seen.points} points"
    if seen.launches > 1:
        where += f", in launch {seen.launch} of {seen.launches}"
    if not values["output"]:
        return f"{where}; nothing is kept without -o FILE"
    if not Path(values["output"]).exists():
        return f"{where}; nothing is kept"
    return f"{where}, kept in {values['output']}; the same command with --resume continues"
