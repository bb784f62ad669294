# SPDX-License-Identifier: BSD-3-Clause
"""Read samples.jsonl: a context record, then one line a point.

The writer flushes after every line, so a run that was killed leaves whole lines and at most one
that stops in the middle: what comes before it is good and is kept, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import parsed, shown, text_in
from lanewise.results.launches import over_launches
from lanewise.results.records import (
    SCHEMA_NAME,
    SCHEMA_VERSION,
    ClockCheck,
    Context,
    End,
    Point,
    Polling,
    Record,
    RecordError,
    Waiting,
    parse_record,
)


@dataclass
class Samples:
    """One result file: `end` is None where the run was interrupted.

    `points` are over all launches, `launch_points` those of each launch as they stand in the file.
    `looped` are points that were measured with the loop of another tool (`measure --as`), over all
    launches; `points` has none of them.
    """

    path: Path
    context: Context
    points: list[Point] = field(default_factory=list)
    looped: list[Point] = field(default_factory=list)
    launch_points: list[Point] = field(default_factory=list)
    clock_checks: list[ClockCheck] = field(default_factory=list)
    polling: list[Polling] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    end: End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def launches(self) -> int:
        """Return how many launches of the ranks the points come from."""
        return max((point.launch for point in self.launch_points), default=1)


def load(path: str | Path) -> Samples:
    """Load one result file, its points in the order in which they were asked for.

    The file has them in the order in which they were finished, and points are interleaved.  A last
    line without its end is left out and named in `warnings`; so is a run without its end record, or
    with fewer points than that counts.
    Raises RequestError, with the file and the line, for anything else that does not follow the
    schema: a newer version, an unknown key, a value of the wrong type.
    """
    path = Path(path)
    return parse(path, text_of(path))


def parse(path: Path, text: str) -> Samples:
    """Return the content of a result file; `path` is what warnings and errors name."""
    lines = text.split("\n")
    unfinished = lines.pop()
    if not lines:
        raise RequestError(f"{path} has no whole line; it is not a result file of lanewise measure")
    samples = Samples(path=path, context=context_of(path, lines[0]))
    for number, line in enumerate(lines[1:], start=2):
        add_line(samples, number, line)
    for point in over_launches(samples.launch_points, samples.context.stopping):
        (samples.looped if point.definition else samples.points).append(point)
    for points in (samples.points, samples.looped):
        points.sort(key=lambda point: place_of(point, samples.context.arguments))
    if unfinished:
        samples.warnings.append(
            f"{path}:{len(lines) + 1}: the last line is cut off; read up to line {len(lines)}"
        )
    if samples.end is None or samples.launches < samples.context.launches:
        samples.warnings.append(
            f"{path}: the run was interrupted {_how_far(samples)}; "
            "measure again with --resume to finish it"
        )
    # Up to 0.2.0 the record of a run that was gone on with counted the points of its last part, so
    # more points than it counts are no fault, and of such a file lines may be missing unseen.
    if samples.end is not None and len(samples.launch_points) < samples.end.points:
        samples.warnings.append(
            f"{path}: {_points(len(samples.launch_points))} where the end record says "
            f"{samples.end.points}; lines are missing, so measure again"
        )
    return samples


def _how_far(samples: Samples) -> str:
    asked = samples.context.launches
    points = [one for one in samples.launch_points if one.launch == samples.launches]
    if asked == 1:
        return f"after {_points(len(points))}"
    return f"after {_points(len(points))} of launch {samples.launches} of {asked}"


def place_of(point: Point, arguments: list[str]) -> tuple[int, str, int, int, int, int]:
    """Return a key that sorts points by operation, as named on the command line, then by size."""
    name = point.operation
    named = arguments.index(name) if name in arguments else len(arguments)
    peers = [-1 if rank is None else rank for rank in (point.peer, point.second_peer)]
    return named, name, point.message_bytes, point.root, peers[0], peers[1]


def text_of(path: Path) -> str:
    """Return the content of `path`; RequestError where it cannot be read as text."""
    try:
        return text_in(path)
    except FileNotFoundError:
        remedy = f"; lanewise measure -o {path} writes it" if path.suffix == ".jsonl" else ""
        raise RequestError(f"{path} does not exist{remedy}") from None
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{path} is not text (byte {error.start}); is it a samples.jsonl?"
        ) from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None


def context_of(path: Path, line: str) -> Context:
    """Parse the first line; RequestError unless it is a context of a schema known here."""
    values = object_of(path, 1, line)
    if values.pop("record", None) != "context" or values.pop("schema", None) != SCHEMA_NAME:
        raise RequestError(
            f"{path}:1: not a {SCHEMA_NAME} context record; is it a file of lanewise measure?"
        )
    version = values.pop("version", None)
    if type(version) is not int or version < 1:
        raise RequestError(
            f"{path}:1: key 'version' is {shown(version)}, not 1 or 2; the file is damaged"
        )
    if version > SCHEMA_VERSION:
        raise RequestError(
            f"{path}:1: schema version {version} is newer than {SCHEMA_VERSION}, "
            "the newest that this lanewise reads; upgrade lanewise"
        )
    if version == 1 and "fabric" in values:
        values["launcher"] = values.pop("fabric")
    context = record_at(path, 1, Context, values)
    places = {f"placement[{i}].rank": one["rank"] for i, one in enumerate(context.placement)}
    require_ranks(f"{path}:1", {"root": context.root, **places}, context.ranks)
    return context


def require_ranks(where: str, named: Mapping[str, int | None], ranks: int) -> None:
    """Raise RequestError where a key names a rank that is not among the ranks of a file."""
    last = max(0, ranks - 1)  # of an imported file, whose ranks may be unknown, all is of rank 0
    for key, rank in named.items():
        if rank is not None and rank > last:
            raise RequestError(
                f"{where}: key '{key}' is {rank}, but the ranks are 0 to {last}; "
                "the file is damaged"
            )


def add_line(samples: Samples, number: int, line: str) -> None:
    """Parse one line after the first and put it where it belongs in `samples`."""
    path = samples.path
    values = object_of(path, number, line)
    kind = values.pop("record", None)
    if kind == "point":
        point = record_at(path, number, Point, values)
        named = {"root": point.root, "peer": point.peer, "second_peer": point.second_peer}
        require_ranks(f"{path}:{number}", named, samples.context.ranks)
        samples.launch_points.append(point)
        samples.end = None
    elif kind == "clock":
        samples.clock_checks.append(record_at(path, number, ClockCheck, values))
        samples.end = None
    elif kind == "polling":
        samples.polling.append(record_at(path, number, Polling, values))
        samples.end = None
    elif kind == "waiting":
        samples.waiting.append(record_at(path, number, Waiting, values))
        samples.end = None
    elif kind == "end":
        samples.end = record_at(path, number, End, values)
    else:
        raise RequestError(f"{path}:{number}: unknown record '{kind}'")


def object_of(path: Path, number: int, line: str) -> dict[str, Any]:
    """Parse a line that must be one JSON object."""
    try:
        values = parsed(line)
    except JSONDecodeError as error:
        raise RequestError(
            f"{path}:{number}: not JSON at column {error.colno} ({error.msg}); the file is damaged"
        ) from None
    except ValueError as error:
        raise RequestError(f"{path}:{number}: not JSON ({error}); the file is damaged") from None
    if not isinstance(values, dict):
        raise RequestError(f"{path}:{number}: not a JSON object")
    return values


def record_at(path: Path, number: int, kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Parse the record of a line; RequestError that says where it is."""
    try:
        return parse_record(kind, values)
    except RecordError as error:
        raise RequestError(f"{path}:{number}: {error}") from None


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"
