# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model guidelines`: where the MPI breaks its own performance guidelines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lanewise.cli import launching
from lanewise.cli.compared import Compared, budget_s
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.progress import progress
from lanewise.errors import RunError
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import CHECK
from lanewise.launch.plan import plan
from lanewise.results.quantity import size_text, time_text
from lanewise.tuning.guidelines import Judged, judge

COMMAND = "model guidelines"

# The evidence stays in memory.
NATIVE = NativeOptions(CHECK, without=("output", "resume"))

AsJson = Annotated[bool, typer.Option("--json", help="Print all guidelines as one JSON object.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--fail-on-violation",
        "--strict",
        help="End with status 1 if a guideline is broken, or if not all are checked.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command `guidelines` to `app`."""
    NATIVE.add_to(app, "guidelines", guidelines)


@launching.with_launch_options
def guidelines(
    context: typer.Context,
    ranks: launching.Ranks = "",
    as_json: AsJson = False,
    strict: Strict = False,
    **_options: Any,
) -> None:
    """$ lanewise model guidelines bcast gather -n 4 --sizes 1K,64K

    Find where the MPI is slower than its own parts.

    A broadcast should not be slower than a scatter and an allgather, a gather not slower than
    an allgather, no collective slower than with more data (self-consistent performance
    guidelines).  Both sides are measured interleaved in one launch, in two series; a guideline
    counts as broken only if the intervals of both series say so.
    """
    values = context.params
    choice = launching.chosen(values)
    with launching.job_folder(choice, values) as folder:
        job = job_of(choice, values, folder)
        planned = plan(choice.launcher, job)
        if values["print_command"]:
            launching.show_command(choice, job, values)
            return
        require_launcher(choice)
        seen = hold(choice, job, values, planned.points)
    margin_used = float(seen.context["margin"])
    judged = [judge(record, margin_used) for record in seen.records]
    broken = sorted((one for one in judged if one.broken), key=lambda one: -one.factor)
    if as_json:
        typer.echo(json.dumps(report(seen, judged)))
    else:
        show(broken, len(judged), seen)
    if strict:
        refuse_violation(seen, len(broken), len(judged))


def refuse_violation(seen: Compared, broken: int, checked: int) -> None:
    """Raise RunError where a guideline is broken, or may be, as it was not checked."""
    if broken:
        raise RunError(f"{broken} of {checked} guidelines are broken")
    if not seen.ended:
        raise RunError(
            f"none of {checked} guidelines is broken, but {seen.points - checked} more were not "
            "checked; name a longer --budget"
        )


def job_of(choice: Choice, values: Mapping[str, Any], folder: Path) -> Job:
    """Return the launch that the parsed options ask for."""
    ranks = launching.rank_count(choice, values)
    arguments = NATIVE.arguments(values)
    arguments += [f"--ranks={ranks}", *recorded(choice, values["transport"])]
    return launching.job_running(choice, values, folder, (CHECK, *arguments), ranks)


def hold(choice: Choice, job: Job, values: Mapping[str, Any], points: int) -> Compared:
    """Launch `job` and return what it told; RunError where it failed."""
    seen = Compared(points=points, budget_s=budget_s(values))

    def kept() -> str:
        return f"after {seen.done} of {seen.points} guidelines"

    quiet = values["quiet"] or values["as_json"]
    with progress(seen, seen.take, "quiet" if quiet else "shown") as on_event:
        launching.launch(
            COMMAND,
            choice,
            job,
            on_event,
            done=lambda: seen.done_with,
            kept=kept,
            conditions=launching.conditions_of(values),
        )
    if seen.out_of_budget:
        sys.stderr.write(f"lanewise {COMMAND}: the budget is used up {kept()}\n")
    return seen


def show(broken: list[Judged], checked: int, seen: Compared) -> None:
    """Print the broken guidelines, the worst first, and of how many that were checked."""
    if broken:
        table = Table(box=None, pad_edge=False)
        for heading, side in (
            ("guideline", "left"), ("size", "right"), ("left", "right"), ("right", "right"),
            ("factor", "right"),
        ):  # fmt: skip
            table.add_column(heading, justify="left" if side == "left" else "right")
        for one in broken:
            table.add_row(
                one.guideline, size_text(one.message_bytes), time_text(one.left_s),
                time_text(one.right_s), f"{one.factor:.2f}",
            )  # fmt: skip
        Console().print(table)
    more = "" if seen.ended else f"; {seen.points - checked} more were not checked"
    sys.stderr.write(f"{len(broken)} of {checked} guidelines are broken{more}\n")


def report(seen: Compared, judged: list[Judged]) -> dict[str, Any]:
    """Return all that was found, for JSON."""
    return {
        "schema": "lanewise-guidelines",
        "version": 1,
        "mpi": seen.context["mpi"],
        "ranks": seen.context["ranks"],
        "margin": seen.context["margin"],
        "confidence": seen.context["confidence"],
        "complete": seen.ended,
        "broken": sum(one.broken for one in judged),
        "guidelines": [values_of(one) for one in judged],
    }


def values_of(one: Judged) -> dict[str, Any]:
    """Return a guideline for JSON, which has no infinite numbers."""
    return {**vars(one), "factor": one.factor if math.isfinite(one.factor) else None}
