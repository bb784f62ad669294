# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a tuning file as a table; and what was measured over lanes, side by side."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from lanewise.results.quantity import size_text, time_text
from lanewise.tuning.content import CollectiveTuning, Point, Tuning
from lanewise.tuning.rule_text import algorithm_text, lanes_text, ratio_text, sizes_text

SINGLE_LANE, MULTILANE = "single_lane", "multilane"


def show_rules(tuning: Tuning) -> None:
    """Print a row for each rule, and for each collective that keeps the default."""
    table = Table(box=None, pad_edge=False)
    for heading in ("collective", "sizes", "algorithm", "of", "time/default"):
        table.add_column(heading, justify="right" if heading == "time/default" else "left")
    for name, content in tuning.collectives.items():
        rows = [(rule, "lanewise") for rule in content.rules]
        rows += [(rule, "mpi") for rule in content.mpi_rules]
        if not rows:
            sizes = f"{len(content.points)} measured"
            table.add_row(name, sizes, "default", tuning.mpi_family, "1.00")
        for rule, origin in rows:
            ratio = ratio_text(content, rule, origin, tuning.margin)
            of = "lanewise" if origin == "lanewise" else tuning.mpi_family
            table.add_row(name, sizes_text(rule), algorithm_text(rule), of, ratio)
    Console().print(table)
    for name, content in tuning.collectives.items():
        show_lanes(name, content)


def show_lanes(name: str, content: CollectiveTuning) -> None:
    """Print each size's default, single lane and lanes, where they were measured between sites."""
    rows = {point.message_bytes: over_lanes(point) for point in content.points}
    headings = list(dict.fromkeys(heading for row in rows.values() for heading in row))
    if not headings:
        return
    table = Table(box=None, pad_edge=False)
    for heading in (name, "default", *headings):
        table.add_column(heading, justify="left" if heading == name else "right")
    for point in content.points:
        row = rows[point.message_bytes]
        cells = [time_text(row[heading]) if heading in row else "" for heading in headings]
        table.add_row(size_text(point.message_bytes), time_text(point.default.median_s), *cells)
    Console().print(table)


def over_lanes(point: Point) -> dict[str, float]:
    """Return the medians of the single lane and of each number of lanes at a size."""
    found = {}
    for candidate in point.candidates:
        choice = candidate.choice
        if choice.algorithm == SINGLE_LANE:
            found["single lane"] = candidate.figures.median_s
        elif choice.algorithm == MULTILANE:
            found[lanes_text(choice.lanes)] = candidate.figures.median_s
    return found
