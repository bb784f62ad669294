# SPDX-License-Identifier: BSD-3-Clause
"""Write tuning.json, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.whole import write_whole
from lanewise.tuning.content import (
    SCHEMA_NAME,
    SCHEMA_VERSION,
    Candidate,
    CollectiveTuning,
    Judged,
    Point,
    Rule,
    Tuning,
)

# Of times and ratios. Another launch agrees in three of them at most.
DIGITS = 6


def save(tuning: Tuning | Sequence[Tuning], path: Path) -> None:
    """Write a tuning file in place of what is there; RunError where it cannot be written."""
    write_whole(path, json.dumps(values_of(tuning), indent=1) + "\n")


def rounded(value: Any) -> Any:
    """Return a value for JSON with its numbers rounded to `DIGITS` significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


def values_of(tuning: Tuning | Sequence[Tuning]) -> dict[str, Any]:
    """Return the file's content for JSON; of several layouts, all were measured with one MPI.

    RequestError for a layout of several hosts whose order of ranks is not known.
    """
    layouts = [tuning] if isinstance(tuning, Tuning) else list(tuning)
    for one in layouts:
        if one.in_any_order and len(set(one.hosts)) > 1:
            raise RequestError(
                f"the file of version 1 does not say in which order its {len(one.hosts)} ranks are "
                "on their hosts, which this version writes; tune again there"
            )
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "mpi": {"family": layouts[0].mpi_family, "library": layouts[0].mpi_library},
        "layouts": [layout_values(one) for one in layouts],
    }


def layout_values(tuning: Tuning) -> dict[str, Any]:
    """Return what a file has of one layout for JSON."""
    return {
        "lanewise": tuning.lanewise,
        "created": tuning.created,
        "hosts": list(tuning.hosts),
        "launches": tuning.launches,
        **({"same_bits": tuning.same_bits} if tuning.same_bits else {}),
        "margin": tuning.margin,
        "confidence": tuning.confidence,
        "collectives": {
            name: rounded(collective_values(content))
            for name, content in tuning.collectives.items()
        },
    }


def collective_values(content: CollectiveTuning) -> dict[str, Any]:
    """Return a collective's evidence and rules for JSON."""
    unmeasured = list(content.unmeasured_bytes)
    return {
        "points": [point_values(point) for point in content.points],
        **({"unmeasured_bytes": unmeasured} if unmeasured else {}),
        "rules": rule_values(content.rules),
        "mpi_rules": rule_values(content.mpi_rules),
    }


def rule_values(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Return rules for JSON."""
    return [asdict(rule) for rule in rules]


def point_values(point: Point) -> dict[str, Any]:
    """Return the evidence of one size for JSON."""
    values: dict[str, Any] = {
        "message_bytes": point.message_bytes,
        "default": asdict(point.default),
        "candidates": [candidate_values(candidate) for candidate in point.candidates],
    }
    if point.confirmation is not None:
        values["confirmation"] = {
            "root": point.confirmation.root,
            "default": asdict(point.confirmation.default),
            "candidates": [
                candidate_values(candidate) for candidate in point.confirmation.candidates
            ],
        }
    if point.judgement is not None:
        values["judgement"] = {
            "roots": list(point.judgement.roots),
            "default_s": list(point.judgement.default_s),
            "candidates": [judged_values(one) for one in point.judgement.candidates],
        }
    return values


def judged_values(judged: Judged) -> dict[str, Any]:
    """Return what was found of a finalist for JSON."""
    values = asdict(judged)
    return {**values.pop("choice"), **values, "times_s": list(judged.times_s)}


def candidate_values(candidate: Candidate) -> dict[str, Any]:
    """Return what was measured of a candidate for JSON."""
    values = {**asdict(candidate.choice), **asdict(candidate.figures)}
    if candidate.predicted_s is not None:
        values["predicted_s"] = candidate.predicted_s
    values["pruned"] = candidate.pruned
    return values
