# SPDX-License-Identifier: BSD-3-Clause
"""Tables in the form of the OSU micro-benchmarks, so that scripts that read those read these.

A heading line begins with `# Size`; the first column is left-aligned in 10 characters, the others
right-aligned in 18, times in microseconds with two decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from lanewise.results.records import Context, Point

FIRST_WIDTH = 10
WIDTH = 18
CENTRES = {"median": "Median Latency(us)", "student": "Mean Latency(us)"}
PAIR_CENTRES = {"median": "Median(us)", "student": "Mean(us)"}


def group_of(point: Point) -> tuple[str, bool]:
    """Return what one table holds: an operation, and whether its points name a pair."""
    return point.operation, point.peer is not None


def heading(point: Point, rule: str) -> str:
    """Return the heading of the table that `point` belongs in; `rule` names the centre shown."""
    columns = ["Low(us)", "High(us)", "Reps"]
    if point.peer is None:
        return line("# Size", [CENTRES.get(rule, CENTRES["median"]), *columns])
    ranks = "# Pair" if point.second_peer is None else "# Ranks"
    centre = PAIR_CENTRES.get(rule, PAIR_CENTRES["median"])
    return line(ranks, ["Size", "Reply", centre, *columns])


def row(point: Point, rule: str) -> str:
    """Return the row of one point."""
    centre_s = point.mean_s if rule == "student" else point.median_s
    times = [microseconds(value) for value in (centre_s, point.low_s, point.high_s)]
    columns = [*times, str(point.repetitions or "-")]
    if point.peer is None:
        return line(str(point.message_bytes), columns)
    reply_bytes = point.message_bytes if point.reply_bytes is None else point.reply_bytes
    return line(ranks_of(point), [str(point.message_bytes), str(reply_bytes), *columns])


def ranks_of(point: Point) -> str:
    """Return the ranks of a pair or triplet as `0-1` or `0-1,2`."""
    second = "" if point.second_peer is None else f",{point.second_peer}"
    return f"{point.root}-{point.peer}{second}"


def line(first: str, others: Iterable[str]) -> str:
    """Lay out one line of a table."""
    return f"{first:<{FIRST_WIDTH}}" + "".join(f"{text:>{WIDTH}}" for text in others)


def microseconds(value_s: float) -> str:
    """Return seconds as microseconds with two decimals, a dash where there is no value."""
    return "-" if math.isnan(value_s) else f"{value_s * 1e6:.2f}"


def title(operation: str, context: Context, launches: int) -> str:
    """Return the comment line above a table."""
    if context.imported:
        return f"# {context.tool}: {operation}, {context.ranks or 'unknown'} ranks"
    return (
        f"# lanewise {context.lanewise}: {operation}, {context.ranks} ranks, {context.library}, "
        f"method {context.method}, start {context.start}, {launches_text(launches)}"
    )


def launches_text(count: int) -> str:
    """Return how many launches of the ranks a table is over, `3 launches`."""
    return "1 launch" if count == 1 else f"{count} launches"


def tables(points: Iterable[Point], context: Context) -> Iterator[str]:
    """Yield the lines of all tables, one table per operation, a blank line between them."""
    asked = str(context.stopping.get("rule", "median"))
    group: tuple[str, bool] | None = None
    for point in points:
        rule = "student" if context.imported and math.isnan(point.median_s) else asked
        if group_of(point) != group:
            if group is not None:
                yield ""
            group = group_of(point)
            yield title(point.operation, context, point.launch_count)
            yield heading(point, rule)
        yield row(point, rule)
