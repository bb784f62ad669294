# SPDX-License-Identifier: BSD-3-Clause
"""ReproMPI's mpibenchmark: settings as `#@key=value`, then one row per repetition or per size.

Rows per size are what --summary prints.  With windows each repetition has an error code: 1 where
it began late, and 2 where it ran past its window.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import fmean, median
from typing import Any, NamedTuple

from lanewise.imports.printed import (
    Line,
    Output,
    Printed,
    PrintedError,
    data_lines,
    number_in,
    parity_for,
    whole_in,
    word_in,
)

NAME = "ReproMPI"
SETTING = re.compile(r"#@(\w+)=(\S+)")
# A program that was built to print sizes in bytes does not print counts.
SIZE = r"(?:count|msize_bytes)"
REPETITIONS = rf"test\s+nrep\s+{SIZE}\s+(?:errorcode\s+)?runtime_sec"
SUMMARY = rf"test\s+{SIZE}\s+total_nrep\s+valid_nrep(?:\s+(?:mean|median|min|max)_sec)+"
HEADING = re.compile(rf"^\s*(?:{REPETITIONS}|{SUMMARY})\s*$", re.MULTILINE)
SUMMED = {"mean_sec": "mean_s", "median_sec": "median_s", "min_sec": "min_s", "max_sec": "max_s"}
# How a count relates to the blocks is not documented.
LEFT_OUT = ("MPI_Reduce_scatter",)


class Run(NamedTuple):
    """What repetitions are of: a test at one size in one launch; a heading begins one."""

    test: str
    message_bytes: int
    ranks: int
    launch: int = 1


def detect(head: str) -> bool:
    """Tell whether a text is of ReproMPI."""
    return "#@reproMPIcommitSHA1=" in head or HEADING.search(head) is not None


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read every repetition of each test and size, or what is said of all."""
    output = Output(NAME, number="median")
    settings: dict[str, str] = {}
    times: dict[Run, list[float]] = {}
    columns: list[str] = []
    begun: set[str] = set()
    for line in data_lines(lines):
        if found := SETTING.match(line.text):
            settings[found[1]] = found[2]
        elif HEADING.match(line.text):
            columns, begun = line.words, set()
        elif not line.text.lstrip().startswith("#"):
            check_row(line, columns)
            test = word_in(line, 0, "test")
            if test not in begun:
                begun.add(test)
                output.begin(test)
            run = run_of(line, columns, settings, ranks)._replace(launch=output.runs[test])
            if "runtime_sec" in columns:
                add_repetition(output, times.setdefault(run, []), columns, line)
            else:
                add_summary(output, run, columns, line)
    for run, samples_s in times.items():
        operation = operation_of(output, run.test)
        if operation and samples_s:
            output.points.append(point_of(operation, run, samples_s))
    return output


def check_row(line: Line, columns: list[str]) -> None:
    """Refuse a row that is not of the columns above it."""
    if not columns or len(line.words) != len(columns):
        named = " ".join(columns) or "test nrep count runtime_sec"
        raise PrintedError(
            line.number, f"not a row of the columns {named}; run mpibenchmark without -v"
        )


def run_of(line: Line, columns: list[str], settings: dict[str, str], ranks: int) -> Run:
    """Return what a row is of."""
    size = "count" if "count" in columns else "msize_bytes"
    element_bytes = setting(settings, "datatype_size_bytes", 1) if size == "count" else 1
    return Run(
        word_in(line, 0, "test"),
        whole_in(line, columns.index(size), size) * element_bytes,
        setting(settings, "nprocs", ranks),
    )


def add_repetition(output: Output, times: list[float], columns: list[str], line: Line) -> None:
    """Add a repetition, unless it did not keep to its window."""
    if "errorcode" in columns and whole_in(line, columns.index("errorcode"), "errorcode"):
        output.note("repetitions that began late or ran past their window are left out")
    else:
        times.append(number_in(line, columns.index("runtime_sec"), "runtime_sec"))


def add_summary(output: Output, run: Run, columns: list[str], line: Line) -> None:
    """Add the point of a row of --summary."""
    operation = operation_of(output, run.test)
    values: dict[str, Any] = {
        SUMMED[name]: number_in(line, place, name)
        for place, name in enumerate(columns)
        if name in SUMMED
    }
    if "median_s" not in values:
        output.number = "average"
    if not values.get("median_s", values.get("mean_s", 0.0)) > 0:
        output.note("rows without a median or a mean, or whose time is 0, are left out")
        return
    values["repetitions"] = whole_in(line, columns.index("valid_nrep"), "valid_nrep")
    if operation:
        point = Printed(operation, run.message_bytes, run.ranks, launch=run.launch, **values)
        output.points.append(point)


def setting(settings: dict[str, str], name: str, default: int) -> int:
    """Return a setting that is a number."""
    text = settings.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else default


def operation_of(output: Output, test: str) -> str:
    """Return the operation of a test such as MPI_Bcast, empty with a note where there is none."""
    name = test.removeprefix("MPI_").lower()
    if test in LEFT_OUT or parity_for(("OSU",), f"osu_{name}") is None:
        output.note(f"{test} is left out: no operation of Lanewise is known to be the same")
        return ""
    return name


def point_of(operation: str, run: Run, samples_s: list[float]) -> Printed:
    """Return a point with the samples that it is of."""
    return Printed(
        operation,
        run.message_bytes,
        run.ranks,
        mean_s=fmean(samples_s),
        median_s=median(samples_s),
        repetitions=len(samples_s),
        samples_s=tuple(samples_s),
        launch=run.launch,
    )
