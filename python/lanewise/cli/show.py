# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise show`: the tables of result files, the conditions above and the cautions below."""

from __future__ import annotations

from pathlib import Path

import typer

from lanewise.cli.cost_table import cost_lines
from lanewise.errors import RequestError
from lanewise.results.cautions import cautions_of
from lanewise.results.read import Samples, load
from lanewise.results.table import line, microseconds, tables


def register(app: typer.Typer) -> None:
    """Add the command `show` to `app`."""
    app.command("show")(show)


def show(
    files: list[Path] = typer.Argument(..., metavar="FILE...", help="Results of lanewise measure."),
    definition: str = typer.Option("", "--definition", help="Numbers as imb or osu define them."),
) -> None:
    """$ lanewise show samples.jsonl

    Print the tables of result files.

    A table an operation, under what conditions it was measured, and what makes its
    numbers less certain.
    """
    loaded = [load(path) for path in files]
    if definition:
        show_by(definition, loaded)
        return
    for number, samples in enumerate(loaded):
        if number:
            typer.echo("")
        typer.echo("\n".join(text_of(samples)))


def show_by(definition: str, loaded: list[Samples]) -> None:
    """Print tables by the formula of another suite."""
    from lanewise.suite import parity

    known = next((one for one in parity.DEFINITIONS if one == definition), None)
    if known is None:
        raise RequestError(f"no definition '{definition}'; use {' or '.join(parity.DEFINITIONS)}")
    for samples in loaded:
        typer.echo("\n".join(parity.rows_of(samples, known)))


def text_of(samples: Samples) -> list[str]:
    """Return all lines that are shown of one file."""
    lines = [*conditions(samples), "", *tables(samples.points, samples.context)]
    if samples.clock_checks:
        lines.append(line("# Residual(us)", ["Uncertainty(us)", "Error(us)", "After(s)"]))
    for check in samples.clock_checks:
        times = [microseconds(value) for value in (check.uncertainty_s, check.error_s)]
        lines.append(line(microseconds(check.residual_s), [*times, f"{check.span_s:.1f}"]))
    lines += cost_lines(samples.polling, samples.waiting)
    cautions = cautions_of(samples)
    if cautions:
        lines += ["", *(f"! {sentence}" for sentence in cautions)]
    return lines


def conditions(samples: Samples) -> list[str]:
    """Return the conditions of a run as lines of `name  value`."""
    context = samples.context
    stopping = context.stopping
    hosts = list(dict.fromkeys(str(place.get("host")) for place in context.placement))
    library = " ".join(context.mpi.get("library", "unknown").split())
    rows = {
        "file": str(samples.path),
        "mpi": library if len(library) <= 80 else f"{library[:77]}...",
        "fabric": context.fabric or "unknown",
        "ranks": f"{context.ranks} on {', '.join(hosts) or 'unknown hosts'}, {context.cores} cores",
        "kernel": f"{context.kernel}, governor {context.governor}, clock {context.clocksource}",
        "method": f"{context.method}, start {context.start}, clock {context.clock}",
        "stopping": (
            f"{stopping.get('rule', 'median')} within {stopping.get('error', 0):.2%} at "
            f"{stopping.get('confidence', 0):.0%}, "
            f"{stopping.get('repetitions_min')} to {stopping.get('repetitions_max')} repetitions"
        ),
        "started": context.started or "unknown",
    }
    return [f"# {name:<10}{text}" for name, text in rows.items()]
