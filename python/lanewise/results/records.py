# SPDX-License-Identifier: BSD-3-Clause
"""Records: what the lines of samples.jsonl hold (schema/samples.schema.json says it for machines).

A line is a JSON object whose `record` says what it is.  A key that is not known here is refused by
name rather than dropped, because a number that is silently ignored is a wrong result later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

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
    buffers: dict[str, Any] = field(default_factory=lambda: dict(PLAIN_BUFFERS))
    seed: int = 0
    started: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def transport_name(self) -> str:
        """Return the transport that `lanewise suite` measured, for any other run the launcher."""
        return self.transport or self.launcher


@dataclass(frozen=True)
class Point:
    """One operation at one size.  Times are in seconds, sizes in bytes.

    `low_s` and `high_s` are NaN where there were too few repetitions for an interval.
    `samples_s` holds every repetition, in the order measured.
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


# JSON knows no NaN: a time that does not exist is null.
NULLABLE = {"low_s", "high_s", "error_s", "uncertainty_s", "median_s", "mean_s"}
OPTIONAL_TYPES = {"int | None": "int"}
ACCEPTED: dict[str, Any] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "tuple[float, ...]": (list,),
    "list[str]": (list,),
    "list[dict[str, Any]]": (list,),
    "dict[str, str]": (dict,),
    "dict[str, Any]": (dict,),
}


def layout(kind: type[Any]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the type of each key of a record, and the keys it cannot be without."""
    types = {item.name: OPTIONAL_TYPES.get(str(item.type), str(item.type)) for item in fields(kind)}
    needed = frozenset(
        item.name
        for item in fields(kind)
        if item.default is MISSING and item.default_factory is MISSING
    )
    return types, needed


KINDS: tuple[type[Any], ...] = (Context, Point, ClockCheck, Polling, Waiting, End)
LAYOUTS = {kind: layout(kind) for kind in KINDS}


def parse_record(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Make a record of `kind` from the keys of one line, `record` and schema keys taken off.

    Raises RecordError naming the key that is unknown, missing or of the wrong type.
    """
    types, needed = LAYOUTS[kind]
    unknown = sorted(set(values) - set(types))
    if unknown:
        raise RecordError(f"unknown key '{unknown[0]}'")
    missing = sorted(needed - set(values))
    if missing:
        raise RecordError(f"key '{missing[0]}' is missing")
    return kind(**{key: convert(key, types[key], value) for key, value in values.items()})


def convert(key: str, wanted: str, value: Any) -> Any:
    """Return `value` as the type of its key; RecordError where it is another."""
    if value is None and key in NULLABLE:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, ACCEPTED[wanted]):
        raise RecordError(f"key '{key}' is {type(value).__name__}, not {plain(wanted)}")
    if wanted == "float":
        return float(value)
    if wanted == "tuple[float, ...]":
        return numbers(key, value)
    return value


def numbers(key: str, values: list[Any]) -> tuple[float, ...]:
    """Return `values` as floats; RecordError where one is not a number."""
    for position, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise RecordError(f"key '{key}' holds a {type(value).__name__} at {position}")
    return tuple(float(value) for value in values)


def plain(wanted: str) -> str:
    """Say a type the way JSON does."""
    return {"str": "a string", "int": "an integer", "float": "a number"}.get(
        wanted, "an object" if wanted.startswith("dict") else "a list"
    )
