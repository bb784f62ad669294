# SPDX-License-Identifier: BSD-3-Clause
"""Read tuning.json, and the evidence that lanewise-tune leaves behind.

Strict: a key that is not known is refused by its name, because a rule that is half understood
could make a program slower.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lanewise.errors import RequestError
from lanewise.tuning.content import (
    COLLECTIVES,
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

Item = TypeVar("Item")
Keys = Mapping[str, tuple[type, ...]]

TEXT, COUNT, NUMBER = (str,), (int,), (int, float)
FIGURES: Keys = {"median_s": NUMBER, "low_s": NUMBER, "high_s": NUMBER, "repetitions": COUNT}
CHOICE: Keys = {"origin": TEXT, "algorithm": TEXT, **FIGURES}
CHOICE_MORE: Keys = {
    "segment_bytes": COUNT,
    "lanes": COUNT,
    "predicted_s": NUMBER,
    "pruned": (bool,),
}
RULE: Keys = {"from_bytes": COUNT, "to_bytes": COUNT, "algorithm": TEXT}
RULE_MORE: Keys = {"segment_bytes": COUNT, "lanes": COUNT}
POINT: Keys = {"message_bytes": COUNT, "default": (dict,), "candidates": (list,)}
FILE: Keys = {
    "schema": TEXT, "version": COUNT, "lanewise": TEXT, "created": TEXT, "mpi": (dict,),
    "ranks": COUNT, "layout": (list,), "margin": NUMBER, "confidence": NUMBER,
    "collectives": (dict,),
}  # fmt: skip


class FaultError(ValueError):
    """A fault in a tuning file: where and what."""


def load(path: str | Path) -> Tuning:
    """Load a tuning file; RequestError that names the file, the place and the key."""
    path = Path(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RequestError(f"{path} does not exist; lanewise tune -o {path} writes it") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise RequestError(f"{path} is not JSON; measure it anew: lanewise tune") from None
    try:
        return tuning_of(values)
    except FaultError as fault:
        raise RequestError(f"{path}: {fault}; measure it anew: lanewise tune") from None


def checked(values: Any, where: str, needed: Keys, more: Keys | None = None) -> dict[str, Any]:
    """Return `values` where it is an object with the needed keys and none that is not known."""
    if not isinstance(values, dict):
        raise FaultError(f"{where} is no object")
    known = {**needed, **(more or {})}
    for key in values:
        if key not in known:
            raise FaultError(f"{where}: unknown key '{key}'")
    for key in needed:
        if key not in values:
            raise FaultError(f"{where} lacks '{key}'")
    for key, value in values.items():
        wrong_kind = not isinstance(value, known[key])
        if wrong_kind or (isinstance(value, bool) and bool not in known[key]):
            raise FaultError(f"{where}: '{key}' is {json.dumps(value)[:40]}")
        if known[key] == COUNT and value < 0:
            raise FaultError(f"{where}: '{key}' is {value}, below 0")
    return values


def each(values: list[Any], where: str, read: Callable[[Any, str], Item]) -> tuple[Item, ...]:
    """Read each item of a list."""
    return tuple(read(value, f"{where}[{i}]") for i, value in enumerate(values))


def tuning_of(values: Any) -> Tuning:
    """Return the tuning that a parsed file holds; FaultError for what does not fit."""
    checked(values, "the file", FILE)
    if values["schema"] != SCHEMA_NAME:
        raise FaultError(f"schema is '{values['schema']}', not {SCHEMA_NAME}")
    if values["version"] != SCHEMA_VERSION:
        raise FaultError(f"version is {values['version']}; this lanewise reads {SCHEMA_VERSION}")
    mpi = checked(values["mpi"], "mpi", {"family": TEXT, "library": TEXT})
    layout = each(values["layout"], "layout", count_of)
    if sum(layout) != values["ranks"]:
        raise FaultError(f"layout places {sum(layout)} ranks of {values['ranks']}")
    for name in values["collectives"]:
        if name not in COLLECTIVES:
            raise FaultError(f"collectives: unknown collective '{name}'")
    return Tuning(
        lanewise=values["lanewise"],
        created=values["created"],
        mpi_family=mpi["family"],
        mpi_library=mpi["library"],
        ranks=values["ranks"],
        layout=layout,
        margin=float(values["margin"]),
        confidence=float(values["confidence"]),
        collectives={
            name: collective_of(content, f"collectives.{name}")
            for name, content in values["collectives"].items()
        },
    )


def count_of(value: Any, where: str) -> int:
    """Return a whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise FaultError(f"{where} is {json.dumps(value)[:40]}, not a whole number from 1")
    return value


def collective_of(values: Any, where: str) -> CollectiveTuning:
    """Return the tuning of one collective; its rules must not overlap."""
    lists: Keys = {"points": (list,), "rules": (list,), "mpi_rules": (list,)}
    checked(values, where, {}, lists)
    return CollectiveTuning(
        points=each(values.get("points", []), f"{where}.points", point_of),
        rules=in_order(each(values.get("rules", []), f"{where}.rules", rule_of), f"{where}.rules"),
        mpi_rules=in_order(
            each(values.get("mpi_rules", []), f"{where}.mpi_rules", rule_of), f"{where}.mpi_rules"
        ),
    )


def in_order(rules: tuple[Rule, ...], where: str) -> tuple[Rule, ...]:
    """Return `rules` where each begins after the one before has ended."""
    last = -1
    for i, rule in enumerate(rules):
        if not last < rule.from_bytes <= rule.to_bytes:
            raise FaultError(f"{where}[{i}]: {rule.from_bytes} to {rule.to_bytes} is out of order")
        last = rule.to_bytes
    return rules


def rule_of(values: Any, where: str) -> Rule:
    """Return one rule."""
    return Rule(**checked(values, where, RULE, RULE_MORE))


def point_of(values: Any, where: str) -> Point:
    """Return the evidence of one size."""
    checked(values, where, POINT, {"confirmation": (dict,)})
    confirmation = values.get("confirmation")
    return Point(
        message_bytes=values["message_bytes"],
        default=figures_of(values["default"], f"{where}.default"),
        candidates=each(values["candidates"], f"{where}.candidates", candidate_of),
        confirmation=None
        if confirmation is None
        else confirmation_of(confirmation, f"{where}.confirmation"),
    )


def confirmation_of(values: Any, where: str) -> Confirmation:
    """Return the second series of one size."""
    checked(values, where, {"root": COUNT, "default": (dict,), "candidates": (list,)})
    return Confirmation(
        root=values["root"],
        default=figures_of(values["default"], f"{where}.default"),
        candidates=each(values["candidates"], f"{where}.candidates", candidate_of),
    )


def figures_of(values: Any, where: str) -> Figures:
    """Return a median with its interval."""
    return Figures(**checked(values, where, FIGURES))


def candidate_of(values: Any, where: str) -> Candidate:
    """Return what was measured of one candidate."""
    checked(values, where, CHOICE, CHOICE_MORE)
    if values["origin"] not in ("lanewise", "mpi"):
        raise FaultError(f"{where}: origin is '{values['origin']}', not lanewise or mpi")
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
