# SPDX-License-Identifier: BSD-3-Clause
"""What a person sees while ranks measure: the table as it grows, and how long it still takes.

The table is data and goes to standard output; progress goes to standard error, as a bar on a
terminal and as plain lines in a log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lanewise.cli import cost_table
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

OnEvent = Callable[[Event], None]


@dataclass
class Seen:
    """What the events have told so far.

    Points take turns and are printed in the order asked for, so `finished` may run ahead of
    `done`, those printed.
    """

    points: int
    done: int = 0
    finished: int = 0
    started: bool = False
    ended: bool = False
    began_s: float = field(default_factory=time.monotonic)
    doing: str = "starting"
    group: tuple[str, bool] | None = None


@contextmanager
def progress(seen: Seen, rule: str, display: Literal["shown", "quiet"]) -> Iterator[OnEvent]:
    """Give the function that takes the events: it updates `seen`, the table and the progress."""
    if display == "quiet":
        yield lambda event: take(event, seen, rule)
    elif sys.stderr.isatty():
        with bar(seen, rule) as on_event:
            yield on_event
    else:
        yield lambda event: take_in_log(event, seen, rule)


@contextmanager
def bar(seen: Seen, rule: str) -> Iterator[OnEvent]:
    """Give the function that takes events where standard error is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        refresh_per_second=1,  # a display that wakes often disturbs what is measured
        speed_estimate_period=120,
    ) as shown:
        task = shown.add_task(seen.doing, total=seen.points)

        def on_event(event: Event) -> None:
            take(event, seen, rule)
            shown.update(task, description=seen.doing, completed=seen.finished, total=seen.points)

        yield on_event


def take_in_log(event: Event, seen: Seen, rule: str) -> None:
    """Take an event and write one plain line for each point."""
    take(event, seen, rule)
    if event["event"] == "point":
        elapsed_s = time.monotonic() - seen.began_s
        sys.stderr.write(f"{seen.done}/{seen.points} {seen.doing} ({elapsed_s:.1f} s)\n")
        sys.stderr.flush()


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


def take_point(event: Event, seen: Seen, rule: str) -> None:
    """Count a point and print its row, below a heading where a new table begins."""
    point = point_in(event)
    seen.done += 1
    seen.finished = max(seen.finished, seen.done)
    seen.points = max(seen.points, seen.done)
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
    seen.done += 1
    seen.finished = max(seen.finished, seen.done)
    seen.points = max(seen.points, seen.done)
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
