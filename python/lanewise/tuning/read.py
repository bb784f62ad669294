# SPDX-License-Identifier: BSD-3-Clause
"""Read tuning.json, and the evidence that lanewise-tune leaves behind.

The schema is strict, because a rule that is half understood could make a program slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import fault_in, object_in, path_text, with_remedy
from lanewise.tuning.content import (
    SCHEMA_NAME,
    SCHEMA_VERSION,
    Candidate,
    Choice,
    CollectiveTuning,
    Confirmation,
    Figures,
    Point,
    Rule,
    Tuning,
)

FIGURES = ("median_s", "low_s", "high_s", "repetitions")
AGAIN = "measure it again: lanewise tune"


class FaultError(ValueError):
    """A fault in a tuning file: where and what."""


def load(path: str | Path) -> Tuning:
    """Load a tuning file; RequestError that names the file, the place and the key."""
    path = Path(path)
    values = object_in(path, missing=f"lanewise tune -o {path} writes it", damaged=AGAIN)
    try:
        return tuning_of(values)
    except FaultError as fault:
        raise RequestError(f"{path}: {with_remedy(str(fault), AGAIN)}") from None


def tuning_of(values: Mapping[str, Any]) -> Tuning:
    """Return the tuning that a parsed file holds; FaultError for what does not fit."""
    for key, known in (("schema", SCHEMA_NAME), ("version", SCHEMA_VERSION)):
        if key in values and values[key] != known:
            raise FaultError(f"{key} is '{values[key]}'; this lanewise reads {known}")
    follow("tuning", values)
    if sum(values["layout"]) != values["ranks"]:
        raise FaultError(f"layout places {sum(values['layout'])} ranks of {values['ranks']}")
    return Tuning(
        lanewise=values["lanewise"],
        created=values["created"],
        mpi_family=values["mpi"]["family"],
        mpi_library=values["mpi"]["library"],
        ranks=values["ranks"],
        layout=tuple(values["layout"]),
        margin=float(values["margin"]),
        confidence=float(values["confidence"]),
        collectives={
            name: collective_of(content, f"collectives.{name}")
            for name, content in values["collectives"].items()
        },
        same_bits=values.get("same_bits", ""),
    )


def follow(schema: str, values: Any, definition: str = "", where: str = "") -> None:
    """Raise FaultError where `values`, which stand at `where`, do not follow a schema."""
    fault = fault_in(values, schema, definition)
    if fault is not None:
        raise FaultError(f"{where}: {fault.sentence}" if where else fault.sentence)


def collective_of(values: Mapping[str, Any], where: str) -> CollectiveTuning:
    """Return the tuning of one collective; its rules must not overlap."""
    return CollectiveTuning(
        points=tuple(map(made_point, values.get("points", []))),
        rules=in_order(values.get("rules", []), f"{where}.rules"),
        mpi_rules=in_order(values.get("mpi_rules", []), f"{where}.mpi_rules"),
    )


def in_order(values: list[dict[str, Any]], where: str) -> tuple[Rule, ...]:
    """Return the rules where each begins after the one before has ended."""
    rules = tuple(Rule(**each) for each in values)
    last = -1
    for i, rule in enumerate(rules):
        if not last < rule.from_bytes <= rule.to_bytes:
            place = f"{where}{path_text([i])}"
            raise FaultError(f"{place}: {rule.from_bytes} to {rule.to_bytes} is out of order")
        last = rule.to_bytes
    return rules


def point_of(values: Any, where: str) -> Point:
    """Return the evidence of one size; FaultError where it does not follow the schema."""
    follow("tuning", values, "point", where)
    return made_point(values)


def made_point(values: Mapping[str, Any]) -> Point:
    """Return the evidence of one size that follows the schema."""
    confirmation = values.get("confirmation")
    return Point(
        message_bytes=values["message_bytes"],
        default=Figures(**values["default"]),
        candidates=tuple(map(candidate_of, values["candidates"])),
        confirmation=None
        if confirmation is None
        else Confirmation(
            root=confirmation["root"],
            default=Figures(**confirmation["default"]),
            candidates=tuple(map(candidate_of, confirmation["candidates"])),
        ),
    )


def figures_of(values: Any, where: str) -> Figures:
    """Return a median with its interval; FaultError where it does not follow the schema."""
    follow("tuning", values, "figures", where)
    return Figures(**values)


def candidate_of(values: Mapping[str, Any]) -> Candidate:
    """Return what was measured of one candidate."""
    return Candidate(
        choice=Choice(
            values["origin"],
            values["algorithm"],
            values.get("segment_bytes", 0),
            values.get("lanes", 1),
        ),
        figures=Figures(**{key: values[key] for key in FIGURES}),
        predicted_s=values.get("predicted_s"),
        pruned=values.get("pruned", False),
    )
