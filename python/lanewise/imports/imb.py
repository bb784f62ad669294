# SPDX-License-Identifier: BSD-3-Clause
"""The text of the Intel MPI Benchmarks: `# Benchmarking NAME`, `# #processes = N`, a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from lanewise.imports.printed import (
    US,
    Line,
    Output,
    Printed,
    check_width,
    data_lines,
    is_row,
    number_in,
    parity_noted,
    sample_of_time,
    size_here,
    whole_in,
)
from lanewise.suite.parity import Parity

NAME = "IMB"
SUITES = ("IMB-MPI1", "IMB-NBC")
VERSION = re.compile(r"Intel\s*\(R\) MPI Benchmark(?:s| Suite) V?(\d[\w. ]*?)\s*,")
BENCHMARK = re.compile(r"#?\s*Benchmarking\s+(\S+)")
PROCESSES = re.compile(r"#?\s*#processes\s*=\s*(\d{1,9})")
HEADING = re.compile(r"\s*(#bytes\s+)?#repetitions\b")
# What IMB prints after a size that it did not measure.
GIVEN_UP = re.compile(r"\s*\d+\s+(out-of-mem|int-overflow|time-out)\.;")
TIMES = {"t[usec]": "mean_s", "t_avg[usec]": "mean_s", "t_min[usec]": "min_s",
         "t_max[usec]": "max_s", "t_ovrl[usec]": "both_s", "t_pure[usec]": "pure_s",
         "t_CPU[usec]": "work_s"}  # fmt: skip
# The first version whose Reduce_scatter counts one rank's block; before, it was the whole vector.
BLOCKS_SINCE = 2019


def detect(head: str) -> bool:
    """Tell whether a text is of IMB."""
    return VERSION.search(head) is not None or (
        BENCHMARK.search(head) is not None and "#repetitions" in head
    )


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read the tables of all benchmarks; each says how many processes it is of."""
    output = Output(NAME)
    parity: Parity | None = None
    processes = ranks
    columns: list[str] = []
    for line in data_lines(lines):
        if found := VERSION.search(line.text):
            output.version = found[1]
        elif found := BENCHMARK.match(line.text):
            parity = parity_noted(output, SUITES, found[1], found[1])
            columns, processes = [], ranks
        elif found := PROCESSES.match(line.text):
            processes = int(found[1])
        elif HEADING.match(line.text):
            columns = line.words
            output.begin(f"{parity and parity.benchmark} on {processes}")
        elif parity is not None and (found := GIVEN_UP.match(line.text)):
            output.note(f"sizes that IMB gave up are left out ({found[1]})")
        elif parity is not None and is_row(line):
            add_row(output, parity, processes, columns, line)
    return output


def counts_whole_vector(output: Output, parity: Parity) -> bool:
    """Tell whether a size is that of the vector of all ranks, as it was in old versions."""
    if parity.operation != "reduce_scatter":
        return False
    if not output.version:
        output.note(
            "sizes of Reduce_scatter are taken to be one rank's block, as IMB counts since 2019; "
            "the file does not name its version"
        )
        return False
    return float(re.match(r"\d+(\.\d+)?", output.version)[0]) < BLOCKS_SINCE  # type: ignore[index]


def add_row(output: Output, parity: Parity, processes: int, columns: list[str], line: Line) -> None:
    """Add the point of a row."""
    check_width(line, columns)
    printed_bytes = whole_in(line, 0, "#bytes") if columns[0] == "#bytes" else 0
    size = size_here(
        output, parity.operation, printed_bytes, processes,
        whole_vector=counts_whole_vector(output, parity),
    )  # fmt: skip
    if size is None:
        return
    values: dict[str, Any] = {
        TIMES[name]: sample_of_time(parity.formula, number_in(line, place, name) * US)
        for place, name in enumerate(columns)
        if name in TIMES
    }
    if "both_s" in values:
        values["mean_s"] = values.pop("both_s") - values.get("work_s", 0.0)
    repetitions = whole_in(line, columns.index("#repetitions"), "#repetitions")
    if not values.get("mean_s", 0) > 0:
        output.note("rows without a time, or whose time is 0, are left out")
        return
    output.add(Printed(parity.operation, size, processes, repetitions=repetitions, **values))
