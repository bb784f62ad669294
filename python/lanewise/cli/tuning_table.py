# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a tuning file as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from lanewise.results.quantity import size_text
from lanewise.tuning.content import BYTES_MAX, CollectiveTuning, Rule, Tuning
from lanewise.tuning.decide import gains


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


def sizes_text(rule: Rule) -> str:
    """Return the sizes of a rule."""
    if rule.to_bytes == BYTES_MAX:
        return "all"
    first, last = size_text(rule.from_bytes), size_text(rule.to_bytes)
    return first if first == last else f"{first} - {last}"


def algorithm_text(rule: Rule) -> str:
    """Return an algorithm with its segment."""
    return rule.algorithm + (f" ({size_text(rule.segment_bytes)})" if rule.segment_bytes else "")


def ratio_text(content: CollectiveTuning, rule: Rule, origin: str, margin: float) -> str:
    """Return the confirmed times over the default's at the sizes of a rule, least and most."""
    found = [
        gain
        for point in content.points
        if rule.from_bytes <= point.message_bytes <= rule.to_bytes
        for choice, gain in gains(point, origin, margin).items()
        if (choice.algorithm, choice.segment_bytes) == (rule.algorithm, rule.segment_bytes)
    ]
    if not found:
        return ""
    least, most = f"{min(found):.2f}", f"{max(found):.2f}"
    return least if least == most else f"{least} - {most}"
