# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what messages cost the processor: a line a record of polling or post-work-wait."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from lanewise.results.records import Polling, Waiting
from lanewise.results.table import UNLIMITED, fitted, line, microseconds

POLLING: Sequence[str] = ("# Size", "Interval(us)", "Availability", "MB/s both ways")
WAITING: Sequence[str] = ("# Size", "Work/base", "Work(us)", "Loop(us)", "Wait(us)")


def heading(names: Sequence[str], columns: int = UNLIMITED) -> str:
    """Return the heading of a table, for so many columns of text."""
    return line(names[0], names[1:], fitted(names, columns))


def polling_row(record: Polling, columns: int = UNLIMITED) -> str:
    """Return the row of one polling interval: medians."""
    rate = statistics.median(record.rate_bytes_per_s) / 1e6
    share = f"{statistics.median(record.availability):.3f}"
    cells = [microseconds(record.interval_s), share, f"{rate:.1f}"]
    return line(str(record.message_bytes), cells, fitted(POLLING, columns))


def waiting_row(record: Waiting, columns: int = UNLIMITED) -> str:
    """Return the row of one amount of work: medians."""
    times = (record.alone_s, record.loop_s, record.wait_s)
    cells = [f"{record.over_base:g}"]
    cells += [microseconds(statistics.median(values)) for values in times]
    return line(str(record.message_bytes), cells, fitted(WAITING, columns))


def cost_lines(
    polling: Iterable[Polling], waiting: Iterable[Waiting], columns: int = UNLIMITED
) -> Iterator[str]:
    """Yield the tables of a file; nothing where it has neither record."""
    for names, rows in (
        (POLLING, [polling_row(record, columns) for record in polling]),
        (WAITING, [waiting_row(record, columns) for record in waiting]),
    ):
        if rows:
            yield heading(names, columns)
            yield from rows
