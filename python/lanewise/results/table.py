# SPDX-License-Identifier: BSD-3-Clause
"""Tables in the form of the OSU micro-benchmarks, so that scripts that read those read these.

A heading line begins with `# Size`; the first column is left-aligned in 10 characters, the others
right-aligned in 18, times in microseconds with two decimals.  Where a terminal has no room for
that, the columns are as wide as it has room for, so that no row goes on in the next line.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence

from lanewise.results.records import Context, Point

FIRST_WIDTH = 10
WIDTH = 18
FITTED_FIRST_WIDTH = 9
FITTED_WIDTH_MIN = 7
UNLIMITED = sys.maxsize
CENTRES = {"median": "Median Latency(us)", "student": "Mean Latency(us)"}
PAIR_CENTRES = {"median": "Median(us)", "student": "Mean(us)"}


def group_of(point: Point) -> tuple[str, bool]:
    """Return what one table holds: an operation, and whether its points name a pair."""
    return point.operation, point.peer is not None


def headings(point: Point, rule: str) -> list[str]:
    """Return what stands above each column of the table that `point` belongs in.

    `rule` names the centre that is shown.
    """
    columns = ["Low(us)", "High(us)", "Reps"]
    if point.peer is None:
        return ["# Size", CENTRES.get(rule, CENTRES["median"]), *columns]
    ranks = "# Pair" if point.second_peer is None else "# Ranks"
    centre = PAIR_CENTRES.get(rule, PAIR_CENTRES["median"])
    return [ranks, "Size", "Reply", centre, *columns]


def heading(point: Point, rule: str, columns: int = UNLIMITED) -> str:
    """Return the heading of the table that `point` belongs in, for so many columns of text."""
    first, *others = headings(point, rule)
    return line(first, others, fitted([first, *others], columns))


def row(point: Point, rule: str, columns: int = UNLIMITED) -> str:
    """Return the row of one point, for so many columns of text."""
    widths = fitted(headings(point, rule), columns)
    centre_s = point.mean_s if rule == "student" else point.median_s
    times = [microseconds(value) for value in (centre_s, point.low_s, point.high_s)]
    cells = [*times, str(point.repetitions or "-")]
    if point.peer is None:
        return line(str(point.message_bytes), cells, widths)
    reply_bytes = point.message_bytes if point.reply_bytes is None else point.reply_bytes
    return line(ranks_of(point), [str(point.message_bytes), str(reply_bytes), *cells], widths)


def ranks_of(point: Point) -> str:
    """Return the ranks of a pair or triplet as `0-1` or `0-1,2`."""
    second = "" if point.second_peer is None else f",{point.second_peer}"
    return f"{point.root}-{point.peer}{second}"


def line(first: str, others: Iterable[str], widths: Sequence[int] = ()) -> str:
    """Lay out one line of a table; `widths` are those that `fitted` returned for its headings."""
    if not widths:
        return f"{first:<{FIRST_WIDTH}}" + "".join(f"{text:>{WIDTH}}" for text in others)
    cells = (f" {text:>{width - 1}}" for text, width in zip(others, widths[1:], strict=True))
    return f"{first:<{widths[0]}}" + "".join(cells)


def fitted(names: Sequence[str], columns: int) -> tuple[int, ...]:
    """Return widths with which a table with such headings has at most so many columns of text.

    Nothing is returned where the usual widths do.  A table needs room for its headings, so a
    terminal can be too narrow for any widths; the least are returned then.
    """
    others = names[1:]
    if FIRST_WIDTH + WIDTH * len(others) <= columns:
        return ()
    tried = [
        (FITTED_FIRST_WIDTH, *(max(width, len(name) + 1) for name in others))
        for width in range(WIDTH, FITTED_WIDTH_MIN - 1, -1)
    ]
    return next((widths for widths in tried if sum(widths) <= columns), tried[-1])


def microseconds(value_s: float) -> str:
    """Return seconds as microseconds with two decimals, a dash where there is no value."""
    return "-" if math.isnan(value_s) else f"{value_s * 1e6:.2f}"


def title(points: Sequence[Point], context: Context) -> str:
    """Return the comment line above a table of these points."""
    operation, launches = points[0].operation, launches_of(points)
    if context.imported:
        several = f", {launches}" if launches != launches_text(1) else ""
        return f"# {context.tool}: {operation}, {context.ranks or 'unknown'} ranks{several}"
    return (
        f"# lanewise {context.lanewise}: {operation}, {context.ranks} ranks, {context.library}, "
        f"method {context.method}, start {context.start}, {launches}"
    )


def launches_text(count: int) -> str:
    """Return how many launches of the ranks a table is over, `3 launches`."""
    return "1 launch" if count == 1 else f"{count} launches"


def counts_text(counts: Iterable[int]) -> str:
    """Return several numbers of launches in short, `3 launches` or `2 to 3 launches`."""
    ordered = sorted(set(counts))
    fewer = f"{ordered[0]} to " if len(ordered) > 1 else ""
    return f"{fewer}{launches_text(ordered[-1])}"


def launches_of(points: Sequence[Point]) -> str:
    """Return over how many launches points are that have a time, or all where none has."""
    timed = [point for point in points if has_time(point)]
    return counts_text(point.launch_count for point in timed or points)


def has_time(point: Point) -> bool:
    """Tell whether a point has a time, which it lacks where all of its repetitions were late."""
    return not math.isnan(point.centre_s)


def of_tables(points: Iterable[Point]) -> list[list[Point]]:
    """Return the points of each table: those of a single launch stand in one of their own.

    A point without a time stands with the others.
    """
    groups: dict[tuple[str, bool], list[Point]] = {}
    for point in points:
        groups.setdefault(group_of(point), []).append(point)
    tables: list[list[Point]] = []
    for group in groups.values():
        timed = next(filter(has_time, group), group[0])
        split: dict[bool, list[Point]] = {}
        for point in group:
            like = point if has_time(point) else timed
            split.setdefault(like.launch_count == 1, []).append(point)
        tables += split.values()
    return tables


def single_mark(count: int) -> str:
    """Return what follows the title of a single launch, which says nothing about the next."""
    return f" ({launches_text(1)})" if count == 1 else ""


def tables(points: Iterable[Point], context: Context, columns: int = UNLIMITED) -> Iterator[str]:
    """Yield the lines of all tables, one table per operation, a blank line between them.

    Points of a single launch stand in one of their own.  Rows have at most so many columns of text,
    titles may have more.
    """
    asked = str(context.stopping.get("rule", "median"))
    for number, group in enumerate(of_tables(points)):
        rules = [
            "student" if context.imported and math.isnan(point.median_s) else asked
            for point in group
        ]
        if number:
            yield ""
        yield title(group, context)
        yield heading(group[0], rules[0], columns)
        yield from (row(point, rule, columns) for point, rule in zip(group, rules, strict=True))
