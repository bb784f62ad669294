# SPDX-License-Identifier: BSD-3-Clause
"""What a person sees while contests are held: a bar with the time left, or plain lines in a log."""

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

from lanewise.launch.run import Event
from lanewise.results.quantity import size_text

OnEvent = Callable[[Event], None]


@dataclass
class Contests:
    """What the events have told so far.  `records` are those of this run."""

    points: int
    budget_s: float = 0.0
    done: int = 0
    started: bool = False
    ended: bool = False
    out_of_budget: bool = False
    doing: str = "starting"
    context: dict[str, Any] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    began_s: float = field(default_factory=time.monotonic)


@contextmanager
def contest_progress(seen: Contests, display: Literal["shown", "quiet"]) -> Iterator[OnEvent]:
    """Give the function that takes the events, and show how far they are."""
    if display == "quiet":
        yield lambda event: take(event, seen)
    elif sys.stderr.isatty():
        with bar(seen) as on_event:
            yield on_event
    else:
        yield lambda event: take_in_log(event, seen)


@contextmanager
def bar(seen: Contests) -> Iterator[OnEvent]:
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
        refresh_per_second=1,  # a display that wakes often disturbs what is measured
        speed_estimate_period=120,
    ) as shown:
        task = shown.add_task(seen.doing, total=seen.points)

        def on_event(event: Event) -> None:
            take(event, seen)
            shown.update(task, description=seen.doing, completed=seen.done, total=seen.points)

        yield on_event


def take_in_log(event: Event, seen: Contests) -> None:
    """Take an event and write one plain line for each contest."""
    take(event, seen)
    if event["event"] == "point":
        elapsed_s = time.monotonic() - seen.began_s
        sys.stderr.write(f"{seen.done}/{seen.points} {seen.doing} ({elapsed_s:.1f} s)\n")
        sys.stderr.flush()


def take(event: Event, seen: Contests) -> None:
    """Update `seen` with an event."""
    kind = event["event"]
    seen.started = True
    if kind == "start":
        seen.points = int(event["points"])
        seen.done = int(event["points_done"])
        seen.context = event["context"]
    elif kind == "point":
        seen.done = int(event["points_done"])
        seen.doing = f"{event['collective']} {size_text(event['message_bytes'])}"
        dropped = ("event", "points_done")
        seen.records.append({key: value for key, value in event.items() if key not in dropped})
    elif kind == "budget":
        seen.out_of_budget = True
    elif kind == "end":
        seen.ended = True
