# SPDX-License-Identifier: BSD-3-Clause
"""The table of `lanewise measure` as it grows: what the events of the ranks become.

The table is data and goes to standard output.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from lanewise.cli import cost_table
from lanewise.cli.progress import Counted
from lanewise.launch.run import Event
from lanewise.results import table
from lanewise.results.quantity import size_text
from lanewise.results.records import (
    ClockCheck,
    Point,
    Polling,
    RecordError,
    Waiting,
    parse_record,
)


@dataclass
class Seen(Counted):
    """What the events have said so far.

    Points are measured interleaved and printed in the order asked for, so `finished` may run ahead
    of `done`, those printed.
    """

    group: tuple[str, bool] | None = None


def take(event: Event, seen: Seen, rule: str) -> None:
    """Update `seen` with an event and print the table's next line where it is a point."""
    kind = event["event"]
    seen.started = True
    if kind == "start":
        seen.points = int(event.get("points", seen.points))
    elif kind == "batch":
        seen.doing = f"{event['operation']} {size_text(event['message_bytes'])}"
        seen.points = max(seen.done, int(event.get("points", seen.points)))
        seen.finished = max(seen.done, int(event.get("points_done", seen.done)))
    elif kind == "point":
        take_point(event, seen, rule)
    elif kind == "clock":
        print_clock(event)
    elif kind in ("polling", "waiting"):
        take_cost(event, seen)
    elif kind == "warning":
        sys.stderr.write(f"lanewise measure: warning: {event['text']}\n")
    elif kind == "end":
        seen.ended = True


def collect(event: Event, seen: Seen, records: list[Event]) -> None:
    """Update `seen` with an event and keep it in `records`, unprinted, if it is a result."""
    if event["event"] not in ("point", "clock", "polling", "waiting"):
        take(event, seen, rule="")
        return
    seen.done = seen.finished = seen.done + 1
    records.append({key: value for key, value in event.items() if key != "event"})


def take_point(event: Event, seen: Seen, rule: str) -> None:
    """Count a point and print its row, below a heading where a new table begins."""
    point = point_in(event)
    seen.count()
    ranks = "" if point.peer is None else f"{table.ranks_of(point)} "
    seen.doing = f"{point.operation} {ranks}{size_text(point.message_bytes)}"
    lines = [table.row(point, rule)]
    if table.group_of(point) != seen.group:
        before = [] if seen.group is None else [""]
        lines = [*before, f"# {point.operation}", table.heading(point, rule), *lines]
        seen.group = table.group_of(point)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def take_cost(event: Event, seen: Seen) -> None:
    """Count a record of polling or post-work-wait and print its row, the first below a heading."""
    values = {key: value for key, value in event.items() if key not in ("event", "record")}
    if event["event"] == "polling":
        heading, row = (
            cost_table.POLLING_HEADING,
            cost_table.polling_row(parse_record(Polling, values)),
        )
    else:
        heading, row = (
            cost_table.WAITING_HEADING,
            cost_table.waiting_row(parse_record(Waiting, values)),
        )
    if seen.done == 0:
        sys.stdout.write(heading + "\n")
    seen.count()
    sys.stdout.write(row + "\n")
    sys.stdout.flush()


def point_in(event: Event) -> Point:
    """Return the point of an event, which comes without its samples."""
    values: dict[str, Any] = {"samples_s": [], **event}
    del values["event"]
    values.pop("record", None)
    try:
        return parse_record(Point, values)
    except RecordError as error:
        raise RecordError(f"the native program and this command do not fit: {error}") from None


def print_clock(event: Event) -> None:
    """Print what a check of the synchronised clocks found."""
    values = {key: value for key, value in event.items() if key not in ("event", "record")}
    check = parse_record(ClockCheck, values)
    columns = ["Uncertainty(us)", "Error(us)", "After(s)"]
    times = [table.microseconds(value) for value in (check.uncertainty_s, check.error_s)]
    sys.stdout.write(table.line("# Residual(us)", columns) + "\n")
    residual = table.microseconds(check.residual_s)
    sys.stdout.write(table.line(residual, [*times, f"{check.span_s:.1f}"]) + "\n")
