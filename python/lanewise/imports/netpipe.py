# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE: what it prints while it runs, and its file.

In versions 2 and 3 the file has three columns, and the time is half a round trip in the shortest
series.  Mbps are 2^20 bits per second there (with `usec`), and have more digits than the time, so
the time is taken from them.

In version 5 the file has five columns: size, mean, least and largest rate in 10^9 bits per second,
and the mean time.  On the terminal it rounds sizes to four digits or more, so that is not read.
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
    is_row,
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
PLAIN = re.compile(r"\s*(\d{1,19})\s+(\d+\.\d+)\s+(\d+\.\d{8})\s*(?:\n|$)")
# What version 5 prints on the terminal, in colours, and a row of its file.
ROUNDED = re.compile(r"^\s*\d+:\s+\S*\s*[\d.]+\s+[KMGT]?B\S*\s+\d+\s+times\s+-->", re.MULTILINE)
AVERAGED = re.compile(
    r"\s*(\d{1,19})\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s+(\d+\.\d{2})\s*(?:\n|$)"
)
# Half of the last digit of its rates and times.
HALF_GBPS, HALF_S = 0.5e-3, 0.5e-8


def detect(head: str) -> bool:
    """Tell whether a text is of NetPIPE; its file has no headings, but its columns agree."""
    if LOOKS.search(head) or ROUNDED.search(head):
        return True
    if found := AVERAGED.match(head):
        return average_s(int(found[1]), float(found[2]), 1e-6 * float(found[5])) is not None
    found = PLAIN.match(head)
    return found is not None and agrees(int(found[1]), float(found[2]), float(found[3]))


def agrees(message_bytes: int, mbps: float, printed_s: float) -> bool:
    """Tell whether rate and time are of one message, within the digits of the time."""
    if not (mbps > 0 and message_bytes > 0):
        return False
    exact_s = message_bytes * 8 / (mbps * MEGABIT)
    return math.isclose(exact_s, printed_s, rel_tol=1e-3, abs_tol=0.6e-8)


def average_s(message_bytes: int, gbps: float, printed_s: float) -> float | None:
    """Return the time of a message by version 5, None where rate and time are not of the same.

    Of the two the one with the smaller error of rounding is taken.
    """
    bits = 8e-9 * message_bytes
    least_s = max(printed_s - HALF_S, bits / (gbps + HALF_GBPS))
    most_s = min(printed_s + HALF_S, bits / (gbps - HALF_GBPS) if gbps > HALF_GBPS else math.inf)
    if message_bytes == 0 or printed_s == 0 or least_s > most_s:
        return None
    by_rate = gbps > 0 and HALF_GBPS / gbps < HALF_S / printed_s
    return bits / gbps if by_rate else printed_s


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
        elif ROUNDED.match(line.text):
            raise PrintedError(
                line.number,
                "NetPIPE 5 rounds sizes on the terminal; name the file that it writes (np.out)",
            )
        elif AVERAGED.match(line.text):
            output.number = "average"
            add_average(output, line)
        elif len(line.words) == 3 and line.text.lstrip()[:1].isdecimal():
            add(output, line, 0, 1, number_in(line, 2, "seconds"))
        elif output.number == "average" and is_row(line):
            raise PrintedError(
                line.number,
                "not a row of NetPIPE 5 (SIZE, mean, least and largest Gbps, usec); "
                "run it without --workload and --integrity",
            )
    return output


def begin(output: Output, message_bytes: int) -> None:
    """Count a run where a size begins one; sizes rise in a run."""
    if not output.points or message_bytes <= output.points[-1].message_bytes:
        output.begin(OPERATION)


def add_average(output: Output, line: Line) -> None:
    """Add one size of version 5."""
    message_bytes = whole_in(line, 0, "bytes")
    gbps, printed_us = number_in(line, 1, "Gbps"), number_in(line, 4, "usec")
    begin(output, message_bytes)
    seconds = average_s(message_bytes, gbps, printed_us * 1e-6)
    if seconds is None:
        raise PrintedError(
            line.number,
            f"{message_bytes} bytes at {gbps:g} Gbps do not take {printed_us:g} us; "
            "run it on two ranks",
        )
    output.add(Printed(OPERATION, message_bytes, RANKS, mean_s=seconds))


def add(output: Output, line: Line, repetitions: int, rate_column: int, printed_s: float) -> None:
    """Add one size."""
    message_bytes = whole_in(line, 0, "bytes")
    begin(output, message_bytes)
    mbps = number_in(line, rate_column, "Mbps")
    if not agrees(message_bytes, mbps, printed_s):
        raise PrintedError(
            line.number,
            f"{message_bytes} bytes at {mbps:g} Mbps do not take {printed_s:g} s; "
            "let the tool write the file again",
        )
    seconds = message_bytes * 8 / (mbps * MEGABIT)
    output.add(Printed(OPERATION, message_bytes, RANKS, mean_s=seconds, repetitions=repetitions))
