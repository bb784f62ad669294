# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune`: measure what beats the MPI's default, and write down where.

Evidence first: the native ranks keep each size in FILE.evidence as they go, and the rules are
drawn from it at the end, so that an interrupted run loses nothing.  One launch runs every candidate
and chooses, others judge what it has chosen.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli import launching
from lanewise.cli.compared import Compared, budget_s
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted, positive_count
from lanewise.cli.progress import Display, progress
from lanewise.errors import RequestError
from lanewise.files.whole import require_place, require_there
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import TUNE
from lanewise.launch.plan import Plan, ask, plan
from lanewise.tuning import course
from lanewise.tuning.conduct import Launch, conduct, evidence_path
from lanewise.tuning.course import Course

# The native program writes evidence; the tuning file that is drawn from it is written here.
NATIVE = NativeOptions(TUNE, without=("output",))

OutputFile = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Tuning file to write (.json).")
]
Launches = Annotated[
    str,
    typer.Option(
        "--launches",
        metavar="N",
        help="Number of launches that judge the candidates chosen before; a rule needs 5 "
        f"(default: as many as fit, {course.LAUNCHES_ENOUGH} to {course.LAUNCHES}).",
    ),
]
Merge = Annotated[
    bool,
    typer.Option("--merge", help="Measure nothing; merge the named tuning files into one."),
]
Emit = Annotated[str, typer.Option("--emit", hidden=True, help="As lanewise tune export --for.")]
EmitTo = Annotated[
    str | None, typer.Option("--emit-to", hidden=True, help="As lanewise tune export -o.")
]
Prove = Annotated[
    bool, typer.Option("--prove", hidden=True, help="As lanewise tune export --verify.")
]


def register(app: typer.Typer) -> None:
    """Add the command `tune` to `app`."""
    NATIVE.add_to(app, "tune", tune)


@launching.with_launch_options
def tune(
    context: typer.Context,
    ranks: launching.Ranks = "",
    output: OutputFile = None,
    launches: Launches = "",
    merge: Merge = False,
    emit: Emit = "",
    emit_to: EmitTo = None,
    prove: Prove = False,
    as_json: launching.AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise tune scatter bcast -n 4 --budget 5min -o tuning.json

    Find algorithms faster than the MPI's default.

    The default and all candidates are timed interleaved, in the same ranks.  A few launches
    choose candidates, and a rule is written only if one of them is significantly faster over
    several other launches.  The file also holds the measurements.  `lanewise tune export
    tuning.json --for openmpi` writes the rules for the MPI itself, `lanewise tune --merge one.json
    two.json -o both.json` makes one file for several numbers of ranks.
    """
    values = context.params
    if merge:
        merge_files(values)
        return
    if [Path(name).suffix for name in values["collectives"] or ()] == [".json"]:
        emit_only(values)
        return
    refuse_emission(values)
    choice = launching.chosen(values)
    with launching.job_folder(choice, values) as folder:
        job = job_of(choice, values, folder)
        if values["list"]:
            launching.show_list("collectives", ask(choice.launcher, job, "--list"), values)
            return
        asked = launches_of(choice, values)
        if not values["print_command"]:
            refuse_output(values)
        planned = plan(choice.launcher, job)
        if values["print_command"]:
            launching.show_command(choice, job, values)
            return
        require_launcher(choice)
        timed = Course(
            budget_s(values), asked.judging, used_s=process_age_s(), enough=asked.enough,
            screenings=asked.screening,
        )  # fmt: skip
        complete = TuningLaunches(choice, values, folder, timed).measure(planned.points)
    display: Display = "quiet" if values["quiet"] or as_json else "shown"
    write_tuning(Path(str(output)), planned, display, complete=complete)
    if as_json:
        typer.echo(Path(str(output)).read_text(encoding="utf-8"), nl=False)
    if emit:
        emit_file(Path(str(output)), values)


def launches_of(choice: Choice, values: Mapping[str, Any]) -> course.Launches:
    """Return how many launches screen and judge."""
    named = positive_count("--launches", values["launches"]) if values["launches"] else None
    return course.launches_for(choice.launcher, named)


def process_age_s() -> float:
    """Return how long this process has been running: its user waits since it began."""
    with Path("/proc/self/stat").open(encoding="ascii") as file:
        began = int(file.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path, *more: str) -> Job:
    """Return the launch that the parsed options ask for, with `more` arguments."""
    ranks = launching.rank_count(choice, values)
    if values["platform"] is not None:
        require_there(Path(values["platform"]), "lanewise model fit")
    arguments = NATIVE.arguments(values)
    arguments += [f"--ranks={ranks}", *recorded(choice, values["transport"]), *more]
    if values["output"] is not None:
        arguments += ["-o", str(evidence_path(Path(values["output"])))]
    return launching.job_running(choice, values, folder, (TUNE, *arguments), ranks)


def refuse_output(values: Mapping[str, Any]) -> None:
    """Raise RequestError where the output cannot be written, exists, or lacks its evidence."""
    if values["output"] is None:
        raise RequestError("no file to write; add -o tuning.json")
    path = Path(values["output"])
    evidence = evidence_path(path)
    require_place(path)
    if values["resume"]:
        if path.exists() and not evidence.exists():
            raise RequestError(
                f"{path} is complete, and {evidence} is gone, so nothing can be continued; "
                "leave out --resume and name another file"
            )
        return
    for found in (path, evidence):
        if found.exists():
            raise RequestError(f"{found} exists; add --resume to go on, or name another")


@dataclass
class TuningLaunches:
    """Makes the launches of one tuning, one after the other."""

    choice: Choice
    values: Mapping[str, Any]
    folder: Path
    course: Course

    def measure(self, points: int) -> bool:
        """Choose and judge; tell whether all of it was done.

        RunError or status 130 that says what is kept, where a launch fails or is interrupted.
        """
        evidence = evidence_path(Path(self.values["output"]))
        done = conduct(self.course, evidence, points, self.launch)
        if not done.complete:
            counts = f", with {done.judged} of {done.wanted} judging launches complete"
            judged = counts if done.wanted else ""
            sys.stderr.write(
                f"lanewise tune: the budget is used up {kept(done.chosen, self.values, judged)}\n"
            )
        return done.complete

    def launch(self, one: Launch) -> Compared:
        """Make one launch, and return what its ranks said."""
        values = {**self.values, "budget": None}
        values["resume"] = values["resume"] or one.resumed
        limit = () if one.seconds is None else (f"--budget={one.seconds:.3f}s",)
        job = job_of(self.choice, values, self.folder, *limit, *one.words)
        if one.resumed:
            job = replace(job, notice="")
        seen = Compared(points=one.points, place=one.place)
        began_s = self.course.clock()
        display: Display = "quiet" if values["quiet"] else "shown"
        with progress(seen, seen.take, display) as on_event:
            launching.launch(
                "tune", self.choice, job, on_event, done=lambda: seen.done_with,
                kept=lambda: kept(seen, self.values),
                conditions=launching.conditions_of(self.values),
            )  # fmt: skip
        self.course.launched(began_s, seen.elapsed_s)
        return seen


def kept(seen: Compared, values: Mapping[str, Any], more: str = "") -> str:
    """Say how far the run came, in which launch if not in the first, and how to go on."""
    evidence = evidence_path(Path(values["output"]))
    if not evidence.exists():
        return "before any size was measured"
    launch = f", in {seen.place.removeprefix(', ')}" if seen.place else ""
    return (
        f"after {seen.done} of {seen.points} sizes{launch}{more}, kept in {evidence}; "
        "the same command with --resume continues"
    )


def write_tuning(path: Path, planned: Plan, display: Display, *, complete: bool) -> None:
    """Draw the rules from the evidence, write the tuning file and show them.

    The evidence of a run that came to its end is in the file and no longer beside it.
    """
    from lanewise.cli.tuning_table import show_rules
    from lanewise.tuning.evidence import read_evidence, tuning_from
    from lanewise.tuning.write import save

    evidence = evidence_path(path)
    context, records = read_evidence(evidence)
    tuning = tuning_from(context, records, planned.sizes_bytes_of)
    save(tuning, path)
    if complete:
        evidence.unlink()
    if display == "shown":
        show_rules(tuning)
    rules = sum(len(one.rules) for one in tuning.collectives.values())
    sys.stderr.write(f"{counted(rules, 'rule')} in {path}\n")


def merge_files(values: Mapping[str, Any]) -> None:
    """Write the layouts of several tuning files into one."""
    from lanewise.tuning.merge import merge, replacements
    from lanewise.tuning.read import load_all
    from lanewise.tuning.write import save

    names = values["collectives"] or ()
    if not names:
        raise RequestError("no tuning files to merge; name them: --merge four.json eight.json")
    if values["output"] is None:
        raise RequestError("no file to write; add -o tuning.json")
    output = Path(values["output"])
    if output.exists():
        raise RequestError(f"{output} exists; name another")
    files = {name: load_all(name) for name in names}
    merged = merge(files)
    save(merged, output)
    for sentence in replacements(files):
        sys.stderr.write(f"lanewise tune: {sentence}\n")
    for one in merged:
        rules = sum(len(content.rules) for content in one.collectives.values())
        sys.stderr.write(f"{counted(rules, 'rule')} for {one.placed} in {output}\n")


def refuse_emission(values: Mapping[str, Any]) -> None:
    """Raise RequestError for options of --emit that do not fit."""
    from lanewise.tuning.emitters import emitter_named

    if values["emit"]:
        emitter_named(values["emit"])
    elif values["emit_to"] is not None or values["prove"]:
        raise RequestError("--emit-to and --prove need a format; add --emit openmpi")
    if values["emit_to"] is not None and Path(values["emit_to"]).exists():
        raise RequestError(f"{values['emit_to']} exists; name another")


def emit_only(values: Mapping[str, Any]) -> None:
    """Write a file for the MPI from a tuning file, with nothing measured."""
    path = Path(values["collectives"][0])
    if not values["emit"]:
        raise RequestError(
            f"{path} is a tuning file; write it for an MPI with: "
            f"lanewise tune export {path} --for openmpi"
        )
    to = values["emit_to"] or values["output"]
    changed = {**values, "emit_to": to}
    refuse_emission(changed)
    emit_file(path, changed)


def emit_file(path: Path, values: Mapping[str, Any]) -> None:
    """Write the rules of `path` in the format of --emit, and prove them if that is asked for."""
    from lanewise.cli.tune_export import Exported, write
    from lanewise.tuning.safety import Operators

    output = Path(values["emit_to"]) if values["emit_to"] is not None else None
    write(
        Exported(
            path, values["emit"], output, values["launcher"], Operators.ANY,
            verified=values["prove"],
        )
    )  # fmt: skip
