# SPDX-License-Identifier: BSD-3-Clause
"""Tables of what messages cost the processor: a line a record of polling or post-work-wait."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator

from lanewise.results.records import Polling, Waiting
from lanewise.results.table import line, microseconds

POLLING_HEADING = line("# Size", ["Interval(us)", "Availability", "MB/s both ways"])
WAITING_HEADING = line("# Size", ["Work/base", "Work(us)", "Loop(us)", "Wait(us)"])


def polling_row(record: Polling) -> str:
    """Return the row of one polling interval: medians."""
    rate = statistics.median(record.rate_bytes_per_s) / 1e6
    share = f"{statistics.median(record.availability):.3f}"
    return line(str(record.message_bytes), [microseconds(record.interval_s), share, f"{rate:.1f}"])


def waiting_row(record: Waiting) -> str:
    """Return the row of one amount of work: medians."""
    times = (record.alone_s, record.loop_s, record.wait_s)
    cells = [microseconds(statistics.median(values)) for values in times]
    return line(str(record.message_bytes), [f"{record.over_base:g}", *cells])


def cost_lines(polling: Iterable[Polling], waiting: Iterable[Waiting]) -> Iterator[str]:
    """Yield the tables of a file; nothing where it has neither record."""
    for heading, rows in (
        (POLLING_HEADING, [polling_row(record) for record in polling]),
        (WAITING_HEADING, [waiting_row(record) for record in waiting]),
    ):
        if rows:
            yield heading
            yield from rows
