# SPDX-License-Identifier: BSD-3-Clause
"""A result file as text: its conditions, one table per operation, and cautions."""

from __future__ import annotations

from lanewise.cli.cost_table import cost_lines
from lanewise.cli.terminal import folded, for_terminal
from lanewise.results.cautions import cautions_of
from lanewise.results.read import Samples
from lanewise.results.table import UNLIMITED, line, microseconds, tables


def text_of(samples: Samples, columns: int = UNLIMITED) -> list[str]:
    """Return all lines that are shown of one file, for so many columns of text."""
    lines = [*conditions(samples, columns), "", *tables(samples.points, samples.context, columns)]
    if samples.clock_checks:
        lines.append(line("# Residual(us)", ["Uncertainty(us)", "Error(us)", "After(s)"]))
    for check in samples.clock_checks:
        times = [microseconds(value) for value in (check.uncertainty_s, check.error_s)]
        lines.append(line(microseconds(check.residual_s), [*times, f"{check.span_s:.1f}"]))
    lines += cost_lines(samples.polling, samples.waiting, columns)
    cautions = cautions_of(samples)
    if cautions:
        lines += ["", *(f"! {sentence}" for sentence in cautions)]
    return for_terminal(lines, columns)


def conditions(samples: Samples, columns: int = UNLIMITED) -> list[str]:
    """Return the conditions of a run as lines of `name  value`."""
    context = samples.context
    stopping = context.stopping
    hosts = list(dict.fromkeys(str(place.get("host")) for place in context.placement))
    if context.imported:
        ranks = str(context.ranks or "unknown")
        rows = {"file": str(samples.path), "imported": context.tool, "ranks": ranks}
        return [shown for name, text in rows.items() for shown in named(name, text, columns)]
    library = " ".join(context.mpi.get("library", "unknown").split())
    rows = {
        "file": str(samples.path),
        "mpi": library if len(library) <= 80 else f"{library[:77]}...",
        "launcher": context.transport_name or "unknown",
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
    return [shown for name, text in rows.items() for shown in named(name, text, columns)]


def named(name: str, text: str, columns: int) -> list[str]:
    """Return a condition as lines that all begin with `#`."""
    lead = f"# {name:<10}"
    lines = folded(lead, text, columns)
    return [lines[0], *("#" + line[1:] for line in lines[1:])]
