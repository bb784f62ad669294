# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure`: launch native ranks, show what they find, and say what is kept.

Refuse, plan, launch: whatever can be refused is refused before a rank starts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from lanewise.cli import launching
from lanewise.cli.growing_table import Seen, collect, take
from lanewise.cli.lanes import measure_lanes
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted
from lanewise.cli.progress import Display, progress
from lanewise.errors import RequestError
from lanewise.launch.choose import Choice, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import MEASURE
from lanewise.launch.plan import ask, plan
from lanewise.launch.run import Event

NATIVE = NativeOptions(MEASURE)


def register(app: typer.Typer) -> None:
    """Add the command `measure` to `app`."""
    NATIVE.add_to(app, "measure", measure)


@launching.with_launch_options
def measure(
    context: typer.Context,
    ranks: launching.Ranks = "",
    as_json: launching.AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise measure scatter gather -n 4 --sizes 1:1M:x2 -o samples.jsonl

    Measure MPI operations.

    Each point is repeated until the interval of its median is narrow enough; every sample is
    kept.  `lanewise measure pairs` measures all pairs of ranks, `lanewise measure clock`
    how well the ranks' clocks can be synchronised, `lanewise measure lanes -o platform.json`
    what lanes between sites carry.
    """
    values = context.params
    choice = launching.chosen(values)
    with launching.job_folder(choice, values) as folder:
        if values["operations"] == ["lanes"]:
            measure_lanes(choice, values, folder)
        else:
            measure_operations(choice, values, folder)


def measure_operations(choice: Choice, values: Mapping[str, Any], folder: Path) -> None:
    """Plan what the parsed options ask for, and measure it unless only a list or line is wanted."""
    job = job_of(choice, values, folder)
    if values["list"]:
        typer.echo(ask(choice.launcher, job, "--list"), nl=False)
        return
    if not values["print_command"]:
        refuse_output(values)
    planned = plan(choice.launcher, job)
    if values["print_command"]:
        launching.show_command(choice, job, values)
        return
    require_launcher(choice)
    measure_planned(choice, job, values, planned.points)


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path) -> Job:
    """Return the launch that the parsed options ask for."""
    ranks = launching.rank_count(choice, values)
    arguments = NATIVE.arguments(values)
    arguments += [f"--ranks={ranks}", f"--launcher={choice.launcher.name}"]
    return launching.job_running(choice, values, folder, (MEASURE, *arguments), ranks)


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


def measure_planned(choice: Choice, job: Job, values: Mapping[str, Any], points: int) -> None:
    """Launch `job`, show its points, and raise RunError that says what is kept if it fails."""
    with_events = Job(**{**vars(job), "program": (*job.program, "--events")})
    rule = values["rule"] or "median"
    seen = Seen(points=points)
    display: Display = "quiet" if values["quiet"] or values["as_json"] else "shown"
    records: list[Event] = []
    shown = (
        (lambda event: collect(event, seen, records))
        if values["as_json"]
        else (lambda event: take(event, seen, rule))
    )
    with progress(seen, shown, display) as on_event:
        launching.launch(
            "measure", choice, with_events, on_event,
            done=lambda: seen.ended, kept=lambda: kept(seen, values),
            conditions=launching.conditions_of(values),
        )  # fmt: skip
    if values["as_json"]:
        typer.echo(json.dumps({"records": records}))
    if values["output"]:
        sys.stderr.write(f"{counted(seen.done, 'point')} in {values['output']}\n")


def kept(seen: Seen, values: Mapping[str, Any]) -> str:
    """Say how far the measurement came and how to go on with it."""
    where = f"after {seen.done} of {seen.points} points"
    if not values["output"]:
        return f"{where}; nothing is kept without -o FILE"
    return f"{where}, kept in {values['output']}; the same command with --resume goes on"
