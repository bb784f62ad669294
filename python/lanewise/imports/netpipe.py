# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE: what it prints while it runs, and its file of three columns.

The time is half a round trip in the shortest series.  Mbps are 2^20 bits per second in versions 2
and 3 (which print `usec`), and have more digits than the time, so the time is taken from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from lanewise.imports.printed import (
    Line,
    Output,
    Printed,
    PrintedError,
    data_lines,
    number_in,
    whole_in,
)

NAME = "NetPIPE"
OPERATION = "pingpong"
RANKS = 2
MEGABIT = 2**20
ROW = re.compile(
    r"\s*\d+:\s+(\d+)\s+bytes\s+(\d+)\s+times\s+-->\s+(\S+)\s+Mbps\s+in\s+(\S+)\s+usec\s*$"
)
LOOKS = re.compile(r"^\s*\d+:\s+\d+\s+bytes\s+\d+\s+times\s+-->", re.MULTILINE)
PLAIN = re.compile(r"\s*(\d+)\s+(\d+\.\d+)\s+(\d+\.\d{8})\s*(?:\n|$)")


def detect(head: str) -> bool:
    """Tell whether a text is of NetPIPE; its file has no headings, but its columns agree."""
    if LOOKS.search(head):
        return True
    found = PLAIN.match(head)
    return found is not None and agrees(int(found[1]), float(found[2]), float(found[3]))


def agrees(message_bytes: int, mbps: float, printed_s: float) -> bool:
    """Tell whether rate and time are of one message, within the digits of the time."""
    if not (mbps > 0 and message_bytes > 0):
        return False
    exact_s = message_bytes * 8 / (mbps * MEGABIT)
    return math.isclose(exact_s, printed_s, rel_tol=1e-3, abs_tol=0.6e-8)


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read all rows; a ping-pong always has two ranks."""
    del ranks
    output = Output(NAME, number="mean of the shortest series")
    for line in data_lines(lines):
        if found := ROW.match(line.text):
            row = Line(line.number, " ".join(found.groups()))
            add(output, row, whole_in(row, 1, "times"), 2, number_in(row, 3, "usec") * 1e-6)
        elif LOOKS.match(line.text):
            raise PrintedError(
                line.number,
                "not a row of NetPIPE 2 or 3 (SIZE bytes TIMES times --> RATE Mbps in TIME usec); "
                "let the tool write the file again",
            )
        elif len(line.words) == 3 and line.text.lstrip()[:1].isdecimal():
            add(output, line, 0, 1, number_in(line, 2, "seconds"))
    return output


def add(output: Output, line: Line, repetitions: int, rate_column: int, printed_s: float) -> None:
    """Add one size."""
    message_bytes = whole_in(line, 0, "bytes")
    # Sizes rise in a run.
    if not output.points or message_bytes <= output.points[-1].message_bytes:
        output.begin(OPERATION)
    mbps = number_in(line, rate_column, "Mbps")
    if not agrees(message_bytes, mbps, printed_s):
        raise PrintedError(
            line.number,
            f"{message_bytes} bytes at {mbps:g} Mbps do not take {printed_s:g} s; "
            "let the tool write the file again",
        )
    seconds = message_bytes * 8 / (mbps * MEGABIT)
    output.add(Printed(OPERATION, message_bytes, RANKS, mean_s=seconds, repetitions=repetitions))
