# SPDX-License-Identifier: BSD-3-Clause
"""The text of nccl-tests: devices, headings, one row per size; the out-of-place time is taken.

What the columns are is read from the headings, which have changed with the versions; the tests of
RCCL, which began as a copy, print the same.

Its size is all the bytes of a rank's larger buffer, as its PERFORMANCE.md says, so that of an
operation with blocks is divided by the ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lanewise.imports.printed import (
    US,
    Line,
    Output,
    Printed,
    PrintedError,
    block_of,
    data_lines,
    is_row,
    number_in,
    whole_in,
)

NAME = "nccl-tests"
PARAMETERS = re.compile(r"^#\s*nThreads?:?\s+\d+\s+nGpus:?\s+\d+", re.MULTILINE)
VERSION = re.compile(r"^#\s*(?:nccl|rccl)-tests version (\d[\w.]*)")
PROGRAM = re.compile(r"\b(\w+)_perf\b")
DEVICE = re.compile(r"#\s+Rank\s+\d+\s")
# Of each program the operation here, and whether its size counts one block per rank.
OPERATIONS = {
    "all_reduce": ("allreduce", False),
    "broadcast": ("bcast", False),
    "reduce": ("reduce", False),
    "sendrecv": ("sendrecv", False),
    "all_gather": ("allgather", True),
    "reduce_scatter": ("reduce_scatter_block", True),
    "alltoall": ("alltoall", True),
    "gather": ("gather", True),
    "scatter": ("scatter", True),
}


def detect(head: str) -> bool:
    """Tell whether a text has the parameters that nccl-tests print."""
    return PARAMETERS.search(head) is not None


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read the table of one program on `ranks` devices, where it does not list them."""
    output = Output(NAME)
    program = ""
    devices = 0
    columns: list[str] = []
    for line in data_lines(lines):
        if found := PROGRAM.search(line.text):
            program = found[1]
        if found := VERSION.match(line.text):
            output.version = found[1]
        if PARAMETERS.match(line.text):
            devices = 0
        elif DEVICE.match(line.text):
            devices += 1
        elif line.text.lstrip().startswith("#") and "algbw" in line.text:
            columns = line.words[1:] if line.words[0] == "#" else line.words
            output.begin(f"{program} on {devices or ranks}")
        elif is_row(line):
            add_row(output, operation_of(program, line), devices or ranks, columns, line)
    return output


def operation_of(program: str, line: Line) -> tuple[str, bool]:
    """Return the operation of a program, and whether its size has one block per rank."""
    if program not in OPERATIONS:
        raise PrintedError(
            line.number,
            f"the text names no known program ({program or 'none'}); put the line "
            "'# Collective test starting: all_reduce_perf', or what it was, at its beginning",
        )
    return OPERATIONS[program]


def add_row(
    output: Output, operation: tuple[str, bool], ranks: int, columns: list[str], line: Line
) -> None:
    """Add the point of a row."""
    if "time" not in columns or len(line.words) != len(columns):
        raise PrintedError(
            line.number,
            f"{len(line.words)} columns where the headings name {len(columns)}; "
            "let the tool write the file again",
        )
    name, blocks = operation
    if blocks and not ranks:
        output.note(
            f"{name} is left out: its sizes are divided by the ranks, and the text lists no "
            "devices; say how many with lanewise import -n"
        )
        return
    printed_bytes = whole_in(line, 0, "size")
    size = block_of(printed_bytes, ranks, 1) if blocks else printed_bytes
    seconds = number_in(line, columns.index("time"), "time") * US
    if size is None or seconds == 0:
        output.note("sizes that the ranks do not share evenly, and times of 0, are left out")
        return
    output.note("buffers on GPUs, out of place; samples of Lanewise are of buffers on the host")
    output.add(Printed(name, size, ranks, mean_s=seconds))
