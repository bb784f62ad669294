# SPDX-License-Identifier: BSD-3-Clause
"""Records: what the lines of samples.jsonl hold, as schema/samples.schema.json has it.

A line is a JSON object whose `record` says what it is.  A key that the schema does not have is
refused by name rather than dropped, because a number that is silently ignored is a wrong result
later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from lanewise.files.schemas import fault_in

SCHEMA_NAME = "lanewise-samples"
SCHEMA_VERSION = 2
PLAIN_BUFFERS = {"caches": "warm", "offset_bytes": 0, "turns": 1, "pages": "small"}


@dataclass(frozen=True)
class Context:
    """Under what conditions the points were measured: the first line of a file."""

    lanewise: str
    mpi: dict[str, str]
    ranks: int
    clock: str
    method: str
    start: str
    stopping: dict[str, Any]
    launcher: str = ""
    launcher_args: str | None = None  # of a file from before they were recorded
    transport: str = ""
    placement: list[dict[str, Any]] = field(default_factory=list)
    cores: int = 0
    kernel: str = ""
    governor: str = "unknown"
    clocksource: str = "unknown"
    pipeline_length: int = 1
    root: int = 0
    weights: tuple[float, ...] = ()
    reply: str = "same"
    order: str = "parallel"
    window: int = 160
    work_s: float = 0.0
    definition: str = ""
    buffers: dict[str, Any] = field(default_factory=lambda: dict(PLAIN_BUFFERS))
    seed: int = 0
    launches: int = 1
    started: str = ""
    arguments: list[str] = field(default_factory=list)
    imported: dict[str, Any] = field(default_factory=dict)

    @property
    def library(self) -> str:
        """Return the MPI and its version in short, as the MPI itself calls them."""
        return " ".join(self.mpi.get("library", "unknown MPI").split())[:60].split(",")[0]

    @property
    def transport_name(self) -> str:
        """Return the transport that was named, and otherwise the launcher.

        Of an imported file it is the tool.
        """
        return self.transport or self.launcher or self.tool

    @property
    def tool(self) -> str:
        """Return the program that printed the numbers of an imported file, else nothing."""
        return str(self.imported.get("tool", ""))


@dataclass(frozen=True)
class Point:
    """One operation at one size, in one launch.  Times are in seconds, sizes in bytes.

    `low_s` and `high_s` are NaN where there were too few repetitions for an interval.
    `samples_s` holds every repetition, in the order measured; it is empty, and the median NaN,
    where another tool printed a mean.  `definition` is whose loop was measured, and a sample then
    the mean of `calls` calls; it is empty for isolated repetitions.  Of a loop in which work
    overlaps, the times are what the operation adds to `work_s`, and `pure_s` is the operation
    without work.
    """

    operation: str
    root: int
    message_bytes: int
    median_s: float
    low_s: float
    high_s: float
    mean_s: float
    repetitions: int
    late_count: int
    outlier_count: int
    batches: int
    stopped: str
    elapsed_s: float
    samples_s: tuple[float, ...]
    peer: int | None = None
    second_peer: int | None = None
    reply_bytes: int | None = None
    min_s: float | None = None
    max_s: float | None = None
    pure_s: float | None = None
    work_s: float | None = None
    launch: int = 1
    definition: str = ""
    calls: int | None = None

    @property
    def launch_count(self) -> int:
        """Return how many launches the interval is over."""
        return 1

    @property
    def centre_s(self) -> float:
        """Return the median, or the mean where another tool printed nothing else."""
        return self.mean_s if math.isnan(self.median_s) else self.median_s

    @property
    def number(self) -> str:
        """Return what the centre is: "median" or "mean".

        It is "median" too where there is no time, since all repetitions were late.
        """
        return "mean" if math.isnan(self.median_s) and not math.isnan(self.mean_s) else "median"


@dataclass(frozen=True)
class ClockCheck:
    """How far the synchronised clocks were apart after `span_s`."""

    residual_s: float
    uncertainty_s: float
    span_s: float
    error_s: float


@dataclass(frozen=True)
class Polling:
    """What messages cost the processor and what they carried, polled each `interval_s`.

    One value a repetition: the share of the processor that is left for work, and the rate of both
    directions together.
    """

    message_bytes: int
    interval_s: float
    depth: int
    availability: tuple[float, ...]
    rate_bytes_per_s: tuple[float, ...]


@dataclass(frozen=True)
class Waiting:
    """Post, work and wait: one amount of work, `over_base` times as long as the loop without any.

    One value a repetition: the work alone, the whole loop, and its first and last part.
    """

    message_bytes: int
    over_base: float
    alone_s: tuple[float, ...]
    loop_s: tuple[float, ...]
    post_s: tuple[float, ...]
    wait_s: tuple[float, ...]


@dataclass(frozen=True)
class End:
    """The last line of a run that was not interrupted."""

    points: int
    elapsed_s: float


Record = TypeVar("Record", Context, Point, ClockCheck, Polling, Waiting, End)


class RecordError(ValueError):
    """A record that does not follow the schema; the text names the key."""


# A record's definition in the schema, and the keys of its line that are not fields of it.
FRAMES: dict[type[Any], tuple[str, dict[str, Any]]] = {
    Context: ("context", {"schema": SCHEMA_NAME, "version": SCHEMA_VERSION}),
    Point: ("point", {}),
    ClockCheck: ("clock", {}),
    Polling: ("polling", {}),
    Waiting: ("waiting", {}),
    End: ("end", {}),
}


def parse_record(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Make a record of `kind` from the keys of one line, `record` and schema keys taken off.

    Raises RecordError naming the key that is unknown, missing or of the wrong type.
    """
    name, frame = FRAMES[kind]
    fault = fault_in({**values, "record": name, **frame}, "samples", name)
    if fault is not None:
        raise RecordError(fault.sentence)
    convert = CONVERTERS[kind]
    return kind(**{key: convert[key](value) for key, value in values.items()})


def as_is(value: Any) -> Any:
    """Return a value as it stands in the file."""
    return value


def number(value: float | None) -> float:
    """Return a time, NaN where there is none: JSON knows no NaN."""
    return math.nan if value is None else float(value)


def whole_or_none(value: float | None) -> int | None:
    """Return a whole number, which JSON may write as 2.0; None where there is none."""
    return None if value is None else int(value)


def numbers(values: list[float]) -> tuple[float, ...]:
    """Return a list of numbers as a tuple."""
    return tuple(map(float, values))


BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "float": number,
    "int": int,
    "int | None": whole_or_none,
    "tuple[float, ...]": numbers,
}
CONVERTERS = {
    kind: {item.name: BY_TYPE.get(str(item.type), as_is) for item in fields(kind)}
    for kind in FRAMES
}
