# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise suite app`: how any MPI program scales, over each transport."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.cli.numbers import counted, positive_count, share
from lanewise.cli.numbers import repetitions as bounds_of
from lanewise.errors import RequestError, RunError
from lanewise.files.whole import require_places, write_whole

if TYPE_CHECKING:
    from lanewise.suite.scale import Curve, Plan
    from lanewise.suite.transport import Transport


def register(app: typer.Typer) -> None:
    """Add the command `app` to `app`, which is `lanewise suite`."""
    app.command("app")(application)


def application(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND ...",
            help="MPI program with its arguments; {ranks} is replaced by the number of ranks.",
        ),
    ],
    ranks: str = typer.Option(
        "1,2",
        "-n",
        "--ranks",
        metavar="A,B,...",
        help="Numbers of ranks to run on, separated by commas (default: 1,2).",
    ),
    transports: str = typer.Option(
        "",
        "--transports",
        metavar="A,B,...",
        help="Transports, by the names that suite --list prints, or files (default: all of the "
        "program's MPI that start here).",
    ),
    weak: bool = typer.Option(
        False, "--weak", "--scaled", help="Weak scaling: the work grows with {ranks}."
    ),
    strong: bool = typer.Option(
        False, "--strong", "--fixed", help="Strong scaling: the work stays the same (default)."
    ),
    pattern: str = typer.Option(
        "",
        "--pattern",
        metavar="REGEX",
        help="Regular expression whose group finds the seconds in the output (default: that of "
        "LAMMPS for LAMMPS, else the wall-clock time counts).",
    ),
    repetitions: str = typer.Option(
        "6:12",
        "--repetitions",
        metavar="N|MIN:MAX",
        help="Runs on each number of ranks: a fixed number, or bounds (default: 6:12).",
    ),
    error: str = typer.Option(
        "5%",
        "--error",
        metavar="SHARE",
        help="Relative half-width of the interval at which a time is known (default: 5%).",
    ),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="FILE", help="File to which the times are written (.json)."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """$ lanewise suite app -n 1,2 --weak -- lmp -in in.lj -var ranks {ranks}

    Measure how a program scales over each transport.

    It runs on each number of ranks over each transport, in interleaved rounds, until the interval
    of its time is narrow.  The table has the parallel efficiency.
    """
    from lanewise.suite import scale as part

    if weak and strong:
        raise RequestError("--weak and --strong exclude each other; choose one")
    if weak and not any("{ranks}" in word for word in command):
        raise RequestError("--weak needs {ranks} in the command, where its work is set")
    least, most = bounds_of("--repetitions", repetitions)
    require_places(output)
    plan = part.Plan(
        command=tuple(command),
        ranks=tuple(sorted({positive_count("-n", word) for word in ranks.split(",")})),
        work="scaled" if weak else "fixed",
        pattern=part.pattern_for(command, pattern),
        error=share("--error", error),
        repetitions_min=least,
        repetitions_max=most,
    )
    curves = part.measure(plan, chosen(transports, plan), tell)
    if as_json:
        sys.stdout.write(json.dumps(as_object(plan, curves)) + "\n")
    else:
        show(plan, curves)
    if output is not None:
        write_whole(output, json.dumps(as_object(plan, curves), indent=1) + "\n")
    require_times(command[0], curves, named=names_in(transports))


def require_times(program: str, curves: Sequence[Curve], named: Sequence[str]) -> None:
    """Raise RunError where the program failed on a number of ranks, or over a transport by name.

    Of the transports that nobody named, those on which it never runs are left out.
    """
    if not any(curve.times_s for curve in curves):
        raise RunError(f"{program} ran on no transport: {curves[0].why}")
    failed = [curve.transport for curve in curves if curve.why and (named or curve.times_s)]
    if failed:
        raise RunError(
            f"{program} failed over {', '.join(failed)}; the reasons and the other times are above"
        )


def names_in(transports: str) -> list[str]:
    """Return the names in the value of --transports."""
    return [word for word in transports.split(",") if word]


def chosen(transports: str, plan: Plan) -> list[Transport]:
    """Return the transports that are asked for, or all of the program's MPI that start here."""
    from lanewise.suite import scale as part
    from lanewise.suite import transport as transport_part
    from lanewise.suite.start import find_out

    family = part.mpi_of(plan.command[0])
    names = names_in(transports)
    candidates = transport_part.find_all(names or transport_part.shipped_names())
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
        raise RunError(
            "no transport of this program's MPI starts here; lanewise suite --list says why"
        )
    return started


def tell(transport: str, ranks: int, seconds: float) -> None:
    """Write one line of progress."""
    sys.stderr.write(f"{transport}, {counted(ranks, 'rank')}: {seconds:.3f} s\n")
    sys.stderr.flush()


def show(plan: Plan, curves: Sequence[Curve]) -> None:
    """Print the table: time and efficiency by transport and number of ranks."""
    from lanewise.suite.scale import efficiencies

    sys.stdout.write(f"{'transport':<18}{'ranks':>6}{'median':>12}{'efficiency':>12}  interval\n")
    for curve in curves:
        if curve.why:
            sys.stderr.write(f"lanewise suite app: {curve.transport} failed: {curve.why}\n")
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
