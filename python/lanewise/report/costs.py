# SPDX-License-Identifier: BSD-3-Clause
"""Costs: what messages cost the processor, as tables of the page, by polling and post-work-wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from lanewise.report.labels import labels_of
from lanewise.results.quantity import rate_text, size_text, time_text
from lanewise.results.read import Samples
from lanewise.results.records import Polling, Waiting

_POLLING = ("size", "interval", "availability", "rate, both ways", "repetitions")
_WAITING = ("size", "work/base", "work", "loop", "wait", "repetitions")
_POLLING_NOTE = (
    "Medians of one launch: the share of the processor that is left for work where messages are "
    "looked for once an interval, and what they carry meanwhile."
)
_WAITING_NOTE = (
    "Medians of one launch: the work alone, the whole loop of post, work and wait, and the wait "
    "in it; the base is the loop without work."
)


@dataclass(frozen=True)
class CostTable:
    """One table; the first of `rows` is the heading, and the columns in `left` are names."""

    name: str
    title: str
    note: str
    rows: Sequence[Sequence[str]]
    left: Sequence[int]


def cost_tables(runs: Sequence[Samples]) -> list[CostTable]:
    """Return the tables of all files; none where no file has such a record."""
    labelled = list(zip(labels_of(runs), runs, strict=True))
    polling = [(label, *_polling_cells(one)) for label, run in labelled for one in run.polling]
    waiting = [(label, *_waiting_cells(one)) for label, run in labelled for one in run.waiting]
    kinds = (
        ("polling", "Work while polling", _POLLING_NOTE, _POLLING, polling),
        ("post-work-wait", "Post, work and wait", _WAITING_NOTE, _WAITING, waiting),
    )
    tables = [
        CostTable(name, title, note, [("run", *heading), *cells], (0,))
        for name, title, note, heading, cells in kinds
        if cells
    ]
    return tables if len(runs) > 1 else [_without_label(table) for table in tables]


def _without_label(table: CostTable) -> CostTable:
    rows = [row[1:] for row in table.rows]
    return CostTable(table.name, table.title, table.note, rows, ())


def _polling_cells(one: Polling) -> tuple[str, ...]:
    return (
        size_text(one.message_bytes),
        time_text(one.interval_s),
        f"{100 * median(one.availability):.1f} %",
        rate_text(median(one.rate_bytes_per_s)),
        str(len(one.availability)),
    )


def _waiting_cells(one: Waiting) -> tuple[str, ...]:
    times = [time_text(median(values)) for values in (one.alone_s, one.loop_s, one.wait_s)]
    return size_text(one.message_bytes), f"{one.over_base:g}", *times, str(len(one.loop_s))
