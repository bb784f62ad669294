# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise scale`: any MPI program over numbers of ranks and transports, with its efficiency."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.cli.numbers import positive_count, positive_number
from lanewise.errors import RequestError, RunError

if TYPE_CHECKING:
    from lanewise.suite.scale import Curve, Plan
    from lanewise.suite.transport import Transport


def register(app: typer.Typer) -> None:
    """Add the command `scale` to `app`."""
    app.command("scale")(scale)


def scale(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND ...", help="{ranks} becomes their number.")
    ],
    ranks: str = typer.Option("1,2", "-n", "--ranks", help="Numbers of ranks, A,B,..."),
    transports: str = typer.Option(
        "", "--transports", help="Names or files; default: all that start."
    ),
    scaled: bool = typer.Option(False, "--scaled", help="The command's work grows with {ranks}."),
    fixed: bool = typer.Option(False, "--fixed", help="The work stays the same (default)."),
    pattern: str = typer.Option("", "--pattern", help="Finds the seconds in the output."),
    repetitions: str = typer.Option("12", "--repetitions", help="The most runs of each."),
    error: str = typer.Option("0.05", "--error", help="Half-width of the interval to stop at."),
    output: Path | None = typer.Option(None, "-o", "--output", help="Where to keep the times."),
) -> None:
    """$ lanewise scale -n 1,2 --scaled -- lmp -in in.lj -var ranks {ranks}

    Run a program on growing numbers of ranks over each transport, in turns, until the interval of
    its time is narrow, and show the parallel efficiency.
    """
    from lanewise.suite import scale as part

    if scaled and fixed:
        raise RequestError("--scaled and --fixed exclude each other; choose one")
    if scaled and not any("{ranks}" in word for word in command):
        raise RequestError("--scaled needs {ranks} in the command, where its work is told")
    if output is not None and not output.parent.is_dir():
        raise RequestError(f"folder {output.parent} does not exist; make it first")
    plan = part.Plan(
        command=tuple(command),
        ranks=tuple(sorted({positive_count("-n", word) for word in ranks.split(",")})),
        work="scaled" if scaled else "fixed",
        pattern=part.pattern_for(command, pattern),
        error=positive_number("--error", error, "0.05"),
        repetitions_max=positive_count("--repetitions", repetitions),
    )
    curves = part.measure(plan, chosen(transports, plan), tell)
    show(plan, curves)
    if output is not None:
        output.write_text(json.dumps(as_object(plan, curves), indent=1) + "\n", encoding="utf-8")
    if not any(curve.times_s for curve in curves):
        raise RunError(f"{command[0]} ran on no transport: {curves[0].why}")


def chosen(transports: str, plan: Plan) -> list[Transport]:
    """Return the transports that are asked for, or all of the program's MPI that start here."""
    from lanewise.suite import scale as part
    from lanewise.suite import transport as transport_part
    from lanewise.suite.start import find_out

    family = part.mpi_of(plan.command[0])
    names = [word for word in transports.split(",") if word]
    candidates = [transport_part.find(name) for name in names or transport_part.shipped_names()]
    fitting = [one for one in candidates if family in ("", one.mpi)]
    if names and len(fitting) < len(candidates):
        other = next(one for one in candidates if one not in fitting)
        raise RequestError(
            f"{plan.command[0]} is linked with {family}; transport {other.name} starts {other.mpi}"
        )
    if names:
        return fitting
    started = [one for one in fitting if find_out(one, 2).starts]
    if not started:
        raise RunError("no transport of this program's MPI starts here; lanewise suite --list")
    return started


def tell(transport: str, ranks: int, seconds: float) -> None:
    """Write one line of progress."""
    sys.stderr.write(f"{transport}, {ranks} ranks: {seconds:.3f} s\n")
    sys.stderr.flush()


def show(plan: Plan, curves: Sequence[Curve]) -> None:
    """Print the table: time and efficiency by transport and number of ranks."""
    from lanewise.suite.scale import efficiencies

    sys.stdout.write(f"{'transport':<18}{'ranks':>6}{'median':>12}{'efficiency':>12}  interval\n")
    for curve in curves:
        if curve.why:
            sys.stderr.write(f"lanewise scale: {curve.transport} failed: {curve.why}\n")
        for one in efficiencies(curve.times_s, plan.work) if curve.times_s else []:
            ends = f"{one.low:.3f} to {one.high:.3f}"
            sys.stdout.write(
                f"{curve.transport:<18}{one.ranks:>6}{one.median_s:>10.3f} s{one.value:>12.3f}"
                f"  {ends}\n"
            )


def as_object(plan: Plan, curves: Sequence[Curve]) -> dict[str, Any]:
    """Return everything that was measured as plain data."""
    return {
        "command": plan.command,
        "work": plan.work,
        "time": plan.pattern or "wall",
        "transports": {
            curve.transport: {"times_s": curve.times_s, "why": curve.why} for curve in curves
        },
    }
