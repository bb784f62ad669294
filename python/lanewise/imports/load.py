# SPDX-License-Identifier: BSD-3-Clause
"""Load samples, or the text of another benchmark as samples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

import lanewise
from lanewise.errors import RequestError
from lanewise.imports import registry
from lanewise.imports.printed import Line, Output, Printed, PrintedError
from lanewise.results import launches, read
from lanewise.results.intervals import CONFIDENCE, median_interval
from lanewise.results.read import Samples
from lanewise.results.records import FRAMES, Context, End, Point

HEAD_BYTES = 64 * 1024
LINE_BYTES_MAX = 64 * 1024
LINES_MAX = 10_000_000
AGAIN = "let the tool write the file again"
UNNAMED = (
    "points whose number of ranks the file does not name are left out; lanewise import -n N says "
    "how many ranks those are of"
)


def load(path: str | Path, ranks: int = 0) -> Samples:
    """Load a file of samples, or the text of another benchmark.

    `ranks` is for texts that do not say how many ranks they are of, and chooses among several.
    Raises RequestError, with the file and the line, for what does not follow its format.
    """
    path = Path(path)
    if path.is_fifo():
        raise RequestError(
            f"{path} is a pipe, and can be read only once; write the text to a file and name that"
        )
    head = head_of(path)
    if head is None or head.lstrip().startswith("{"):
        return read.load(path)
    found = registry.formats_of(head)
    if len(found) > 1:
        tools = " and ".join(one.NAME for one in found)
        raise RequestError(f"{path} holds text of {tools}; keep that of each in a file of its own")
    if not found:
        if path.suffix == ".jsonl" or not head:
            return read.load(path)
        raise RequestError(
            f"{path} is neither a file of lanewise measure nor the text of {registry.names()}; "
            "keep the tool's headings in it"
        )
    return samples_of(path, printed_in(path, found[0], ranks), ranks)


def head_of(path: Path) -> str | None:
    """Return how a file begins, None where that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return None


def printed_in(path: Path, found: registry.Format, ranks: int) -> Output:
    """Parse a text; RequestError that says where it is wrong."""
    cut: list[int] = []
    try:
        with path.open("rb") as file:
            output = found.parse(lines_of(file, cut), ranks)
    except PrintedError as fault:
        raise RequestError(f"{path}:{fault.line}: {fault}") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    if cut:
        output.note(f"line {cut[0]} is left out, since its end is missing; {AGAIN}")
    if not output.points:
        why = f": {'; '.join(output.notes)}" if output.notes else f"; {AGAIN}"
        raise RequestError(f"{path} has no row of {found.NAME} that can be read{why}")
    return output


def lines_of(file: BinaryIO, cut: list[int]) -> Iterator[Line]:
    """Yield the lines of a file; a last one without its end goes to `cut`."""
    number = 0
    while raw := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(raw) > LINE_BYTES_MAX:
            raise PrintedError(number, f"a line of more than {LINE_BYTES_MAX} bytes; {AGAIN}")
        if number > LINES_MAX:
            raise PrintedError(number, f"more than {LINES_MAX} lines; split the file")
        if b"\0" in raw:
            raise PrintedError(number, f"a NUL byte, which no text has; {AGAIN}")
        if not raw.endswith(b"\n"):
            cut.append(number)
            return
        yield Line(number, raw.decode("utf-8", errors="replace"))


def samples_of(path: Path, output: Output, wanted: int) -> Samples:
    """Return what a tool printed as samples, those of one number of ranks."""
    ranks = ranks_of(path, output, wanted)
    chosen = [one for one in output.points if one.ranks == ranks]
    tool = " ".join(filter(None, (output.tool, output.version)))
    points = [point_of(one) for one in chosen]
    if len({(launches.key_of(one), one.launch) for one in points}) < len(points):
        output.note("of rows of the same size in one run, the last is taken")
    context = Context(
        lanewise=lanewise.__version__,
        mpi={"family": "unknown", "library": "unknown", "standard": "unknown"},
        ranks=ranks,
        clock="unknown",
        method="unknown",
        start="unknown",
        stopping={"rule": "unknown"},
        launches=max(one.launch for one in points),
        imported={"tool": tool, "number": output.number, "notes": output.notes},
    )
    return Samples(
        path=path,
        context=context,
        points=launches.over_launches(points, context.stopping),
        launch_points=points,
        end=End(len(points), 0.0),
    )


def ranks_of(path: Path, output: Output, wanted: int) -> int:
    """Return which number of ranks to take: the one wanted, else the largest."""
    found = sorted({one.ranks for one in output.points})
    if wanted and wanted not in found and found != [0]:
        listed = ", ".join(map(str, found))
        raise RequestError(f"{path} has no points of {wanted} ranks; it has those of {listed}")
    ranks = wanted or found[-1]
    others = [str(one) for one in found if one not in (0, ranks)]
    if ranks and 0 in found and found != [0]:
        output.note(UNNAMED)
    if others:
        output.note(f"points of {', '.join(others)} ranks are left out; -n takes those")
    return ranks


def point_of(printed: Printed) -> Point:
    """Return one row as a point, with an interval where every repetition is there."""
    low_s, high_s = median_interval(printed.samples_s, CONFIDENCE)
    return Point(
        operation=printed.operation,
        root=0,
        message_bytes=printed.message_bytes,
        median_s=printed.median_s,
        low_s=low_s,
        high_s=high_s,
        mean_s=printed.mean_s,
        repetitions=printed.repetitions,
        late_count=0,
        outlier_count=0,
        batches=0,
        stopped="fixed",
        elapsed_s=0.0,
        samples_s=printed.samples_s,
        min_s=printed.min_s,
        max_s=printed.max_s,
        launch=printed.launch,
        pure_s=printed.pure_s,
        work_s=printed.work_s,
    )


def lines_for(samples: Samples) -> Iterator[str]:
    """Yield the lines of samples.jsonl."""
    yield record_line(samples.context)
    for point in samples.launch_points:
        yield record_line(point)
    if samples.end is not None:
        yield record_line(samples.end)


def record_line(record: Context | Point | End) -> str:
    """Return a record as a line; what is not there is null, or left out where it may be."""
    name, frame = FRAMES[type(record)]
    values: dict[str, Any] = {"record": name, **frame}
    for item in fields(record):
        value = getattr(record, item.name)
        if value is None or (item.name in ("imported", "definition") and not value):
            continue
        values[item.name] = None if isinstance(value, float) and math.isnan(value) else value
    return json.dumps(values, ensure_ascii=False)
