# SPDX-License-Identifier: BSD-3-Clause
"""The table of `lanewise measure --as`: that of the other tool as it grows, and what differs.

Each size is measured isolated and with the tool's loop.  A row is printed when both are there, and
what the two differ by below the table, when its operation is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanewise.cli import growing_table
from lanewise.cli.growing_table import Seen
from lanewise.launch.run import Event
from lanewise.results.records import Point
from lanewise.suite.printed_as import Layout, differences

Key = tuple[str, int]


@dataclass
class LoopedTable:
    """The rows so far of one operation, as pairs of an isolated and a looped point."""

    layout: Layout
    stopping: Mapping[str, Any]
    waiting: dict[Key, Point] = field(default_factory=dict)
    pairs: list[tuple[Point, Point]] = field(default_factory=list)
    tables: int = 0

    def take(self, event: Event, seen: Seen) -> None:
        """Update `seen` with an event, and print what it completes."""
        if event["event"] == "end":
            self.close()
        if event["event"] != "point":
            growing_table.take(event, seen, self.stopping)
            return
        point = growing_table.completed_by(event, seen, self.stopping)
        if point is None:
            return
        key = (point.operation, point.message_bytes)
        other = self.waiting.pop(key, None)
        if other is None:
            self.waiting[key] = point
        elif point.definition:
            self.add(other, point)
        else:
            self.add(point, other)

    def add(self, isolated: Point, looped: Point) -> None:
        """Print the row of a size, below a heading where a new table begins."""
        if self.pairs and self.pairs[-1][1].operation != looped.operation:
            self.close()
        above: list[str] = []
        if not self.pairs:
            above = [*([""] if self.tables else []), *self.layout.heading(looped)]
        write([*above, self.layout.row(looped, len(self.pairs))])
        self.pairs.append((isolated, looped))

    def close(self) -> None:
        """Print what the two definitions differ by, once all sizes of an operation are there."""
        if self.pairs:
            write(list(differences(self.layout, self.pairs)))
            self.tables += 1
        self.pairs = []


def write(lines: list[str]) -> None:
    """Print lines at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
