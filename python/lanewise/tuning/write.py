# SPDX-License-Identifier: BSD-3-Clause
"""Write tuning.json, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lanewise.files.whole import write_whole
from lanewise.tuning.content import (
    SCHEMA_NAME,
    SCHEMA_VERSION,
    Candidate,
    CollectiveTuning,
    Point,
    Rule,
    Tuning,
)


def save(tuning: Tuning, path: Path) -> None:
    """Write a tuning file in place of what is there; RunError where it cannot be written."""
    write_whole(path, json.dumps(values_of(tuning), indent=1) + "\n")


def values_of(tuning: Tuning) -> dict[str, Any]:
    """Return the file's content for JSON."""
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "lanewise": tuning.lanewise,
        "created": tuning.created,
        "mpi": {"family": tuning.mpi_family, "library": tuning.mpi_library},
        "ranks": tuning.ranks,
        "layout": list(tuning.layout),
        **({"same_bits": tuning.same_bits} if tuning.same_bits else {}),
        "margin": tuning.margin,
        "confidence": tuning.confidence,
        "collectives": {
            name: collective_values(content) for name, content in tuning.collectives.items()
        },
    }


def collective_values(content: CollectiveTuning) -> dict[str, Any]:
    """Return a collective's evidence and rules for JSON."""
    return {
        "points": [point_values(point) for point in content.points],
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
    return values


def candidate_values(candidate: Candidate) -> dict[str, Any]:
    """Return what was measured of a candidate for JSON."""
    values = {**asdict(candidate.choice), **asdict(candidate.figures)}
    if candidate.predicted_s is not None:
        values["predicted_s"] = candidate.predicted_s
    values["pruned"] = candidate.pruned
    return values
