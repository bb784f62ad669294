# SPDX-License-Identifier: BSD-3-Clause
"""Progress of ranks at work: a bar with the time left on a terminal, plain lines in a log.

It goes to standard error, since standard output is for data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from lanewise.launch.run import Event

# A log has no bar; between points it has a line this often.
LOG_EVERY_S = 10.0

OnEvent = Callable[[Event], None]
Display = Literal["shown", "quiet"]


@dataclass
class Counted:
    """How far ranks are: `finished` may run ahead of `done`, those that were shown."""

    points: int
    done: int = 0
    finished: int = 0
    started: bool = False
    ended: bool = False
    began_s: float = field(default_factory=time.monotonic)
    doing: str = "starting"
    logged_s: float = field(default_factory=time.monotonic)

    def count(self) -> None:
        """Count one more as done."""
        self.done += 1
        self.finished = max(self.finished, self.done)
        self.points = max(self.points, self.done)


@contextmanager
def progress(seen: Counted, take: OnEvent, display: Display) -> Iterator[OnEvent]:
    """Give the function that takes the events: it has `take` update `seen`, and shows it."""
    if display == "quiet":
        yield take
    elif sys.stderr.isatty():
        with bar(seen, take) as on_event:
            yield on_event
    else:
        yield lambda event: take_in_log(event, seen, take)


@contextmanager
def bar(seen: Counted, take: OnEvent) -> Iterator[OnEvent]:
    """Give the function that takes events where standard error is a terminal."""
    # Only a terminal has a bar, and every command starts faster without.
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(elapsed_when_finished=False),
    )
    with progress.Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        refresh_per_second=1,  # a display that wakes often disturbs what is measured
        speed_estimate_period=120,
    ) as shown:
        task = shown.add_task(seen.doing, total=seen.points)

        def on_event(event: Event) -> None:
            take(event)
            shown.update(task, description=seen.doing, completed=seen.finished, total=seen.points)

        yield on_event


def take_in_log(event: Event, seen: Counted, take: OnEvent) -> None:
    """Take an event and write one plain line for each point, and now and then for what is tried."""
    take(event)
    now_s = time.monotonic()
    due = event["event"] == "trial" and now_s - seen.logged_s >= LOG_EVERY_S
    if due or event["event"] == "point":
        elapsed_s = now_s - seen.began_s
        seen.logged_s = now_s
        sys.stderr.write(f"{seen.done}/{seen.points} {seen.doing} ({elapsed_s:.1f} s)\n")
        sys.stderr.flush()
