# SPDX-License-Identifier: BSD-3-Clause
"""The table of `lanewise measure` as it grows: what the events of the ranks become.

The table is data and goes to standard output.  A row is over all launches of the ranks, so rows
come with the last launch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanewise.cli import cost_table
from lanewise.cli.progress import Counted
from lanewise.launch.native import build_command
from lanewise.launch.run import Event
from lanewise.results import table
from lanewise.results.launches import key_of, together
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
    of `done`, those that came in order.  Both count the points of all launches, and `before` those
    of the launches that ended.  `columns` is how wide the table may be.
    """

    launch: int = 1
    launches: int = 1
    before: int = 0
    earlier: dict[Any, list[Point]] = field(default_factory=dict)
    group: tuple[str, bool] | None = None
    columns: int = table.UNLIMITED

    def begin(self, launch: int) -> None:
        """Take note that a launch begins."""
        if launch > 1:
            # Statistics take a second to import, which must not be while ranks measure.
            importlib.import_module("lanewise.results.intervals")
        self.before = self.done
        self.launch = launch
        self.ended = False

    def total(self, points: int) -> int:
        """Return the points of all launches where this one and those to come have `points`."""
        return self.before + points * (self.launches - self.launch + 1)

    def name(self, what: str) -> str:
        """Return what is measured now with the launch, where there are several."""
        return what if self.launches == 1 else f"launch {self.launch} of {self.launches}: {what}"


def take(event: Event, seen: Seen, stopping: Mapping[str, Any]) -> None:
    """Update `seen` with an event and print the table's next line where a point is complete.

    `stopping` has the rule and the confidence of the intervals.
    """
    kind = event["event"]
    seen.started = True
    if kind == "start":
        seen.points = seen.total(int(event.get("points", seen.points)))
    elif kind == "batch":
        seen.doing = seen.name(f"{event['operation']} {size_text(event['message_bytes'])}")
        seen.points = max(seen.done, seen.total(int(event["points"])))
        seen.finished = max(seen.done, seen.before + int(event["points_done"]))
    elif kind == "point":
        take_point(event, seen, stopping)
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
        take(event, seen, {})
        return
    seen.done = seen.finished = seen.done + 1
    records.append({key: value for key, value in event.items() if key != "event"})


def take_point(event: Event, seen: Seen, stopping: Mapping[str, Any]) -> None:
    """Count a point and print its row, below a heading where a new table begins."""
    point = completed_by(event, seen, stopping)
    if point is None:
        return
    rule = str(stopping.get("rule", "median"))
    lines = [table.row(point, rule, seen.columns)]
    if table.group_of(point) != seen.group:
        before = [] if seen.group is None else [""]
        heading = table.heading(point, rule, seen.columns)
        title = f"# {point.operation}{table.single_mark(point.launch_count)}"
        lines = [*before, title, heading, *lines]
        seen.group = table.group_of(point)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def completed_by(event: Event, seen: Seen, stopping: Mapping[str, Any]) -> Point | None:
    """Count a point; return it over all launches once the last of them has it."""
    point = point_in(event)
    seen.count()
    ranks = "" if point.peer is None else f"{table.ranks_of(point)} "
    seen.doing = seen.name(f"{point.operation} {ranks}{size_text(point.message_bytes)}")
    launches = seen.earlier.setdefault(key_of(point), [])
    launches.append(point)
    return together(launches, stopping) if seen.launch == seen.launches else None


def take_cost(event: Event, seen: Seen) -> None:
    """Count a record of polling or post-work-wait and print its row, the first below a heading."""
    values = {key: value for key, value in event.items() if key not in ("event", "record")}
    if event["event"] == "polling":
        names = cost_table.POLLING
        row = cost_table.polling_row(parse_record(Polling, values), seen.columns)
    else:
        names = cost_table.WAITING
        row = cost_table.waiting_row(parse_record(Waiting, values), seen.columns)
    if seen.done == 0:
        sys.stdout.write(cost_table.heading(names, seen.columns) + "\n")
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
        raise RecordError(
            f"the native program is not of this version ({error}); "
            f"build it again: {build_command()}"
        ) from None


def print_clock(event: Event) -> None:
    """Print what a check of the synchronised clocks found."""
    values = {key: value for key, value in event.items() if key not in ("event", "record")}
    check = parse_record(ClockCheck, values)
    columns = ["Uncertainty(us)", "Error(us)", "After(s)"]
    times = [table.microseconds(value) for value in (check.uncertainty_s, check.error_s)]
    sys.stdout.write(table.line("# Residual(us)", columns) + "\n")
    residual = table.microseconds(check.residual_s)
    sys.stdout.write(table.line(residual, [*times, f"{check.span_s:.1f}"]) + "\n")
