# SPDX-License-Identifier: BSD-3-Clause
"""Read tuning.json, and the evidence that lanewise-tune leaves behind.

The schema is strict, because a rule that is half understood could make a program slower.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import (
    UPGRADE,
    fault_in,
    has_version,
    newer,
    object_in,
    path_text,
    with_remedy,
)
from lanewise.tuning.content import (
    BYTES_MAX,
    SCHEMA_NAME,
    SCHEMA_VERSION,
    WITHOUT_COMMON_SIZE,
    Candidate,
    Choice,
    CollectiveTuning,
    Confirmation,
    Figures,
    Judged,
    Judgement,
    Point,
    Rule,
    Tuning,
)

FIGURES = ("median_s", "low_s", "high_s", "repetitions")
RANKS_MAX = 1 << 24
AGAIN = "measure it again: lanewise tune"


class FaultError(ValueError):
    """A fault in a tuning file: where and what."""

    remedy = AGAIN


class NewerError(FaultError):
    """A tuning file of a later version of Lanewise."""

    remedy = UPGRADE


def load(path: str | Path) -> Tuning:
    """Load a tuning file with one layout; RequestError that names the file, place and key."""
    layouts = load_all(path)
    if len(layouts) > 1:
        placed = "; ".join(one.placed for one in layouts)
        raise RequestError(f"{path} holds several layouts ({placed}); name a file with one of them")
    return layouts[0]


def load_all(path: str | Path) -> tuple[Tuning, ...]:
    """Load a tuning file with all its layouts; RequestError as `load`."""
    path = Path(path)
    values = object_in(path, missing=f"lanewise tune -o {path} writes it", damaged=AGAIN)
    try:
        return tunings_of(values)
    except FaultError as fault:
        raise RequestError(f"{path}: {with_remedy(str(fault), fault.remedy)}") from None


def tunings_of(values: Mapping[str, Any]) -> tuple[Tuning, ...]:
    """Return the tunings that a parsed file holds; FaultError for what does not fit."""
    if sentence := newer(values, "tuning"):
        raise NewerError(sentence)
    is_version_1 = values.get("schema") == SCHEMA_NAME and has_version(values, 1)
    if is_version_1:
        values = from_version_1(values)
    for key, known in (("schema", SCHEMA_NAME), ("version", SCHEMA_VERSION)):
        if key in values and values[key] != known:
            raise FaultError(f"{key} is '{values[key]}'; this lanewise reads {known}")
    follow("tuning", values)
    layouts = tuple(
        tuning_of(values["mpi"], whole_numbers(one), f"layouts[{i}]")
        for i, one in enumerate(values["layouts"])
    )
    if is_version_1:
        layouts = tuple(replace(one, in_any_order=True) for one in layouts)
    if len({one.hosts for one in layouts}) < len(layouts):
        raise FaultError("layouts has the same hosts twice")
    return layouts


def whole_numbers(values: Any) -> Any:
    """Return values of JSON with integers for numbers such as 1024.0, which a schema takes for one.

    What writes JSON may write so; sizes would be rounded like times and ratios.
    """
    if isinstance(values, dict):
        return {key: whole_numbers(value) for key, value in values.items()}
    if isinstance(values, list):
        return [whole_numbers(value) for value in values]
    return int(values) if isinstance(values, float) and values.is_integer() else values


def from_version_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file of version 1 as one of this version: one layout, ranks one host after another.

    Version 1 did not note in which order the ranks of several hosts were.
    """
    known = ("lanewise", "created", "margin", "confidence", "collectives")
    missing = [key for key in ("ranks", "layout", *known) if key not in values]
    if missing:
        raise FaultError(f"key '{missing[0]}' is missing")
    counts = values["layout"]
    if not isinstance(counts, list) or not all(type(one) is int and one > 0 for one in counts):
        raise FaultError(f"layout is {counts}, not the number of ranks on each host")
    if sum(counts) > RANKS_MAX:
        raise FaultError(f"layout places {sum(counts)} ranks, more than {RANKS_MAX}")
    if sum(counts) != values["ranks"]:
        raise FaultError(f"layout places {sum(counts)} ranks of {values['ranks']}")
    hosts = [host for host, count in enumerate(counts) for _ in range(count)]
    others = {key: value for key, value in values.items() if key not in (*known, "ranks", "layout")}
    layout = {**{key: values[key] for key in known}, "hosts": hosts}
    return {**others, "version": SCHEMA_VERSION, "layouts": [layout]}


def tuning_of(mpi: Mapping[str, str], values: Mapping[str, Any], where: str) -> Tuning:
    """Return the tuning of one layout of a file that follows the schema."""
    hosts = values["hosts"]
    if list(number_hosts(hosts)) != hosts:
        raise FaultError(f"{where}.hosts does not number hosts by their first ranks")
    return Tuning(
        lanewise=values["lanewise"],
        created=values["created"],
        mpi_family=mpi["family"],
        mpi_library=mpi["library"],
        hosts=tuple(hosts),
        margin=float(values["margin"]),
        confidence=float(values["confidence"]),
        collectives={
            name: collective_of(name, content, f"{where}.collectives.{name}")
            for name, content in values["collectives"].items()
        },
        launches=values.get("launches", 0),
        same_bits=values.get("same_bits", ""),
    )


def number_hosts(hosts: Iterable[Hashable]) -> tuple[int, ...]:
    """Return each rank's host as a number, hosts numbered in the order of their first ranks."""
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(host, len(numbers)) for host in hosts)


def follow(schema: str, values: Any, definition: str = "", where: str = "") -> None:
    """Raise FaultError where `values`, which stand at `where`, do not follow a schema."""
    fault = fault_in(values, schema, definition)
    if fault is not None:
        raise FaultError(f"{where}: {fault.sentence}" if where else fault.sentence)


def collective_of(name: str, values: Mapping[str, Any], where: str) -> CollectiveTuning:
    """Return the tuning of one collective; its rules must not overlap."""
    rules = in_order(values.get("rules", []), f"{where}.rules")
    if name in WITHOUT_COMMON_SIZE and not serve_all_sizes(rules):
        raise FaultError(
            f"{where}.rules must be one rule from 0 to {BYTES_MAX}: "
            "ranks do not know each other's counts"
        )
    return CollectiveTuning(
        points=tuple(map(made_point, values.get("points", []))),
        rules=rules,
        mpi_rules=in_order(values.get("mpi_rules", []), f"{where}.mpi_rules"),
        unmeasured_bytes=tuple(values.get("unmeasured_bytes", ())),
    )


def serve_all_sizes(rules: tuple[Rule, ...]) -> bool:
    """Return whether there is no rule, or one for all sizes."""
    return not rules or (
        len(rules) == 1 and (rules[0].from_bytes, rules[0].to_bytes) == (0, BYTES_MAX)
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
    judgement = values.get("judgement")
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
        judgement=None
        if judgement is None
        else Judgement(
            roots=tuple(judgement["roots"]),
            default_s=tuple(judgement["default_s"]),
            candidates=tuple(map(judged_of, judgement["candidates"])),
        ),
    )


def figures_of(values: Any, where: str) -> Figures:
    """Return a median with its interval; FaultError where it does not follow the schema."""
    follow("tuning", values, "figures", where)
    return Figures(**values)


def candidate_of(values: Mapping[str, Any]) -> Candidate:
    """Return what was measured of one candidate."""
    return Candidate(
        choice=choice_of(values),
        figures=Figures(**{key: values[key] for key in FIGURES}),
        predicted_s=values.get("predicted_s"),
        pruned=values.get("pruned", False),
    )


def judged_of(values: Mapping[str, Any]) -> Judged:
    """Return what was found of one finalist."""
    return Judged(
        choice=choice_of(values),
        times_s=tuple(values["times_s"]),
        ratio=values["ratio"],
        low=values["low"],
        high=values["high"],
        p_value=values["p_value"],
        faster=values["faster"],
    )


def choice_of(values: Mapping[str, Any]) -> Choice:
    """Return the choice that a candidate is."""
    return Choice(
        values["origin"],
        values["algorithm"],
        values.get("segment_bytes", 0),
        values.get("lanes", 1),
    )
