# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune`: measure what beats the MPI's default, and write down where.

Evidence first: the native ranks keep each size in FILE.evidence as they go, and the rules are
drawn from it at the end, so that an interrupted run loses nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lanewise.cli import launching
from lanewise.cli.compared import Compared, budget_s
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import counted
from lanewise.cli.progress import progress
from lanewise.errors import RequestError
from lanewise.launch.choose import Choice, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import TUNE
from lanewise.launch.plan import ask, plan

# The native program writes evidence; the tuning file that is drawn from it is written here.
NATIVE = NativeOptions(TUNE, without=("output",))

OutputFile = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Tuning file to write (.json).")
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
    emit: Emit = "",
    emit_to: EmitTo = None,
    prove: Prove = False,
    as_json: launching.AsJson = False,
    **_options: Any,
) -> None:
    """$ lanewise tune scatter bcast -n 4 --budget 5min -o tuning.json

    Find algorithms faster than the MPI's default.

    Every candidate and the default are measured interleaved in one run.  A rule is written only
    where a candidate was significantly faster, and was so again in a second series; the
    measurements stay in the file.  `lanewise tune export tuning.json --for openmpi` writes the
    rules for the MPI itself.
    """
    values = context.params
    if [Path(name).suffix for name in values["collectives"] or ()] == [".json"]:
        emit_only(values)
        return
    refuse_emission(values)
    choice = launching.chosen(values)
    with launching.job_folder(choice, values) as folder:
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
        measure_evidence(choice, job, values, planned.points)
    write_tuning(Path(str(output)), "quiet" if values["quiet"] or as_json else "shown")
    if as_json:
        typer.echo(Path(str(output)).read_text(encoding="utf-8"), nl=False)
    if emit:
        emit_file(Path(str(output)), values)


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path) -> Job:
    """Return the launch that the parsed options ask for."""
    ranks = launching.rank_count(choice, values)
    if values["platform"] is not None and not Path(values["platform"]).is_file():
        raise RequestError(f"{values['platform']} does not exist; lanewise model fit writes one")
    arguments = NATIVE.arguments(values)
    arguments += [f"--ranks={ranks}", f"--launcher={choice.launcher.name}"]
    if values["output"] is not None:
        arguments += ["-o", str(evidence_path(Path(values["output"])))]
    return launching.job_running(choice, values, folder, (TUNE, *arguments), ranks)


def evidence_path(output: Path) -> Path:
    """Return where the evidence for a tuning file is kept while it is measured."""
    return output.parent / f"{output.name}.evidence"


def refuse_output(values: Mapping[str, Any]) -> None:
    """Raise RequestError where the output cannot be written, exists, or lacks its evidence."""
    if values["output"] is None:
        raise RequestError("no file to write; add -o tuning.json")
    path = Path(values["output"])
    evidence = evidence_path(path)
    if path.is_dir():
        raise RequestError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise RequestError(f"{path.parent} is no folder that can be written; name another")
    if values["resume"]:
        if path.exists() and not evidence.exists():
            raise RequestError(f"{path} is complete: {evidence} to go on with is not there")
        return
    for found in (path, evidence):
        if found.exists():
            raise RequestError(f"{found} exists; add --resume to go on, or name another")


def measure_evidence(choice: Choice, job: Job, values: Mapping[str, Any], points: int) -> None:
    """Launch `job` and wait; RunError or status 130 that says what is kept."""
    seen = Compared(points=points, budget_s=budget_s(values))
    with progress(seen, seen.take, "quiet" if values["quiet"] else "shown") as on_event:
        launching.launch(
            "tune", choice, job, on_event, done=lambda: seen.done_with,
            kept=lambda: kept(seen, values), conditions=launching.conditions_of(values),
        )  # fmt: skip
    if seen.out_of_budget:
        sys.stderr.write(f"lanewise tune: the budget is used up {kept(seen, values)}\n")


def kept(seen: Compared, values: Mapping[str, Any]) -> str:
    """Say how far the run came and how to go on."""
    evidence = evidence_path(Path(values["output"]))
    return (
        f"after {seen.done} of {seen.points} sizes, kept in {evidence}; "
        "the same command with --resume goes on"
    )


def write_tuning(path: Path, display: str) -> None:
    """Draw the rules from the evidence, write the tuning file and show them.

    The evidence of a run that came to its end is in the file and no longer beside it.
    """
    from lanewise.cli.tuning_table import show_rules
    from lanewise.tuning.evidence import complete, read_evidence, tuning_from
    from lanewise.tuning.write import save

    evidence = evidence_path(path)
    context, records = read_evidence(evidence)
    tuning = tuning_from(context, records)
    save(tuning, path)
    if complete(evidence):
        evidence.unlink()
    if display == "shown":
        show_rules(tuning)
    rules = sum(len(one.rules) for one in tuning.collectives.values())
    sys.stderr.write(f"{counted(rules, 'rule')} in {path}\n")


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

    output = Path(values["emit_to"]) if values["emit_to"] is not None else None
    write(Exported(path, values["emit"], output, values["launcher"], verified=values["prove"]))
