# SPDX-License-Identifier: BSD-3-Clause
"""ReproMPI's mpibenchmark: settings as `#@key=value`, then one row per repetition."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from statistics import fmean, median
from typing import NamedTuple

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
COLUMNS = ("test", "nrep", "count", "runtime_sec")
HEADING = re.compile(r"^\s*test\s+nrep\s+count\s+runtime_sec\s*$", re.MULTILINE)
# How a count relates to the blocks is not documented.
LEFT_OUT = ("MPI_Reduce_scatter",)


class Run(NamedTuple):
    """What repetitions are of: a test at one size in one launch; a heading begins one."""

    test: str
    message_bytes: int
    ranks: int
    launch: int


def detect(head: str) -> bool:
    """Tell whether a text is of ReproMPI."""
    return "#@reproMPIcommitSHA1=" in head or HEADING.search(head) is not None


def parse(lines: Iterable[Line], ranks: int = 0) -> Output:
    """Read every repetition of each test and size."""
    output = Output(NAME, number="median")
    settings: dict[str, str] = {}
    times: dict[Run, list[float]] = {}
    begun: set[str] | None = None
    for line in data_lines(lines):
        if found := SETTING.match(line.text):
            settings[found[1]] = found[2]
        elif HEADING.match(line.text):
            begun = set()
        elif not line.text.lstrip().startswith("#"):
            if begun is None or len(line.words) != len(COLUMNS):
                raise PrintedError(
                    line.number,
                    f"not a row of the columns {' '.join(COLUMNS)}; "
                    "run mpibenchmark without --summary and -v",
                )
            test = word_in(line, 0, "test")
            if test not in begun:
                begun.add(test)
                output.begin(test)
            key = Run(
                test,
                whole_in(line, 2, "count") * setting(settings, "datatype_size_bytes", 1),
                setting(settings, "nprocs", ranks),
                output.runs[test],
            )
            times.setdefault(key, []).append(number_in(line, 3, "runtime_sec"))
    for key, samples_s in times.items():
        operation = operation_of(output, key.test)
        if operation:
            output.points.append(point_of(operation, key, samples_s))
    return output


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
        median_s=median(samples_s) if samples_s else math.nan,
        repetitions=len(samples_s),
        samples_s=tuple(samples_s),
        launch=run.launch,
    )
