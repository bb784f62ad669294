# SPDX-License-Identifier: BSD-3-Clause
"""Measure in launches of one's own: what `lanewise measure` does, without its table.

What can be refused is refused before a rank starts.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.describe import describe
from lanewise.launch.job import Job
from lanewise.launch.native import MEASURE, find_program
from lanewise.launch.native_arguments import arguments_of
from lanewise.launch.plan import plan
from lanewise.launch.run import Event
from lanewise.launch.run_native import failure_of, run_native
from lanewise.launch.several import ALONE, launch_job, launches_of
from lanewise.measurement.measurement import Measurement
from lanewise.measurement.options import texts_of
from lanewise.measurement.request import Request, refuse_output
from lanewise.results.read import load
from lanewise.suite.asked import Asked, chosen, conditions_of, job_running, room_of


def measure_launched(request: Request, asked: Asked) -> Measurement:
    """Launch ranks as often as asked, and return what they measured."""
    refuse(request)
    choice = chosen(asked)
    require_launcher(choice)
    with tempfile.TemporaryDirectory(prefix="lanewise-measure-") as name:
        folder = Path(name)
        path = request.output or folder / "samples.jsonl"
        job = job_of(request, asked, choice, folder, path)
        plan(choice.launcher, job)
        warnings = run_launches(request, asked, choice, job)
        text = path.read_text(encoding="utf-8")
        notes = [*job.notice.splitlines(), *warnings]
        return Measurement(load(path), text, tuple(filter(None, dict.fromkeys(notes))))


def refuse(request: Request) -> None:
    """Raise RequestError for what gives no points, and for an output that cannot be written."""
    for name in (*ALONE, "lanes"):
        if name in request.operations:
            raise RequestError(f"{name} has no times of points; use the command lanewise measure")
    refuse_output(request)


def job_of(request: Request, asked: Asked, choice: Choice, folder: Path, path: Path) -> Job:
    """Return the launch that is asked for, writing to `path`."""
    described = describe([str(find_program(MEASURE, os.environ))]).options
    texts = texts_of(request.options, described)
    ranks = request.ranks or room_of(asked, choice).ranks
    words = arguments_of(described, {**texts, "operations": request.operations})
    words += [f"--output={path.resolve()}", f"--ranks={ranks}"]
    words += recorded(choice, asked.transport, asked.launcher_arguments)
    return job_running(asked, choice, folder, (MEASURE, *words), ranks)


def run_launches(request: Request, asked: Asked, choice: Choice, job: Job) -> list[str]:
    """Run all launches of `job`; return the warnings of the ranks.

    Raises RequestError or RunError where a launch fails, with what is kept.
    """
    adaptive = request.options.get("adaptive") is not None
    count = launches_of(choice.launcher, request.operations, request.launches, adaptive=adaptive)
    conditions = conditions_of(asked)
    warnings: list[str] = []

    def take(event: Event) -> None:
        if event["event"] == "warning":
            warnings.append(str(event["text"]))

    for launch in range(1, count + 1):
        one = launch_job(job, launch, count, gone_on=launch > 1)
        one = replace(one, program=(*one.program, "--events"))
        outcome = run_native(choice, one, take, conditions)
        if outcome.status != 0 or not outcome.ended:
            raise failure_of(choice, outcome, kept(request, launch, count))
    return warnings


def kept(request: Request, launch: int, launches: int) -> str:
    """Say how far a measurement came that failed, and where that is kept."""
    where = f"in launch {launch} of {launches}"
    if request.output is None:
        return f"{where}; nothing is kept without output="
    return f"{where}; what was measured is kept in {request.output}"
