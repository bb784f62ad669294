# SPDX-License-Identifier: BSD-3-Clause
"""The text of the OSU micro-benchmarks, versions 5 to 7: a title, headings, one row per size.

They do not print the number of ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lanewise.imports.printed import (
    US,
    Line,
    Output,
    Printed,
    PrintedError,
    check_width,
    data_lines,
    is_row,
    number_in,
    parity_noted,
    sample_of_rate,
    sample_of_time,
    size_here,
    whole_in,
)
from lanewise.suite.parity import Parity
from lanewise.suite.printed_as import OSU_TITLES, SYNCHRONISATIONS

NAME = "OSU"
# A function and a device may follow "MPI", as in MPI_Put-CUDA.
TITLE = re.compile(r"#\s*OSU (MPI(?:_\w+)?)(?:-\w+)? (.+?) Test\s+v(\d[\w.]*)")
SYNCHRONISATION = re.compile(r"#\s*Synchronization:\s*(\S+)")
# Those of which a table is read.
BENCHMARKS = {
    title: name
    for name, title in OSU_TITLES.items()
    if not name.startswith(("osu_i", "osu_mbw", "osu_neighbor"))
}
# Programs that run on two ranks only; collectives and pairs run on any number.
TWO = ("osu_latency", "osu_latency_persistent", "osu_bw", "osu_bw_persistent", "osu_bibw",
       "osu_bibw_persistent", *SYNCHRONISATIONS)  # fmt: skip
MB = 1e6
# A heading's columns are apart by two blanks or more, or end with their unit.
COLUMN = re.compile(r"Size|Iterations|[A-Z][\w /-]*?\s*\((?:us|MB/s)\)|P\d+ Tail Lat\(us\)")
HALF = re.compile(r"P50 Tail Lat\s*\(us\)")


@dataclass
class Table:
    """The benchmark whose rows come next."""

    parity: Parity
    ranks: int
    columns: list[str]


def detect(head: str) -> bool:
    """Tell whether a text has the title of an OSU benchmark."""
    return TITLE.search(head) is not None


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read the tables of all benchmarks in a file, which ran on `ranks` ranks, 0: not known."""
    output = Output(NAME)
    table: Table | None = None
    known = False
    for line in data_lines(lines):
        if found := TITLE.search(line.text):
            output.version = found[3]
            table = table_of(output, f"{found[1]} {found[2]}", ranks)
            known = True
        elif table is not None and (found := SYNCHRONISATION.match(line.text)):
            table = table if is_usual(output, table.parity, found[1]) else None
        elif line.text.lstrip().startswith("#"):
            columns = COLUMN.findall(line.text)
            if table is not None and any("(" in name for name in columns):
                table.columns = columns
        elif table is not None and is_row(line):
            add_row(output, table, line)
        elif not known and is_row(line):
            raise PrintedError(line.number, "a row before the title; keep the lines above it")
    return output


def table_of(output: Output, title: str, ranks: int) -> Table | None:
    """Return the table of a benchmark, None with a note where it is not read."""
    name = BENCHMARKS.get(title, "")
    parity = parity_noted(output, (NAME,), name, f"'{title}'")
    if parity is None:
        return None
    output.begin(name)
    return Table(parity, 2 if name in TWO else ranks, [])


def is_usual(output: Output, parity: Parity, synchronisation: str) -> bool:
    """Tell whether a one-sided table is of the program's own choice; a note says if not."""
    usual = SYNCHRONISATIONS.get(parity.benchmark, synchronisation)
    if synchronisation == usual:
        return True
    output.note(
        f"{parity.benchmark} with {synchronisation} is left out: {parity.operation} is {usual}"
    )
    return False


def add_row(output: Output, table: Table, line: Line) -> None:
    """Add the point of a row."""
    if not table.columns:
        raise PrintedError(
            line.number, "a row without headings; keep the line '# Size ...' above the table"
        )
    formula = table.parity.formula
    operation = table.parity.operation
    check_width(line, table.columns)
    has_size = table.columns[0] == "Size"
    printed_bytes = whole_in(line, 0, "Size") if has_size else 0
    message_bytes = size_here(
        output, operation, printed_bytes, table.ranks, whole_vector=table.parity.whole_vector
    )
    if message_bytes is None:
        return
    values: dict[str, Any] = {}
    repetitions = 0
    for place, name in enumerate(table.columns):
        if name == "Iterations":
            repetitions = whole_in(line, place, name)
        elif "MB/s" in name:
            rate = number_in(line, place, name) * MB
            values["mean_s"] = sample_of_rate(formula, message_bytes, rate)
        elif key := key_of(name):
            values[key] = sample_of_time(formula, number_in(line, place, name) * US)
    if not values.get("mean_s", 0) > 0:
        output.note("rows whose time or rate is 0 are left out")
        return
    output.add(Printed(operation, message_bytes, table.ranks, repetitions=repetitions, **values))


def key_of(name: str) -> str:
    """Return what a column of times is here, empty for one that has no place."""
    if HALF.fullmatch(name):
        return "median_s"
    kinds = {"Avg": "mean_s", "Latency": "mean_s", "Min": "min_s", "Max": "max_s"}
    return kinds.get(name.replace("(", " ").split()[0], "")
