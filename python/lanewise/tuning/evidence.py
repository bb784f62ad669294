# SPDX-License-Identifier: BSD-3-Clause
"""Evidence: what lanewise-tune writes as it goes, a JSON line a size, and the tuning it makes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.tuning.content import COLLECTIVES, Point, Tuning
from lanewise.tuning.decide import decide
from lanewise.tuning.read import FaultError, point_of

# What a record has beside the point.
MORE = ("record", "key", "collective", "elapsed_s")


def read_evidence(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the context and the records of an evidence file, a cut-off last line left out."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        records = [json.loads(line) for line in lines]
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise RequestError(f"{path} is damaged; remove it and measure anew") from None
    if not records or records[0].get("schema") != "lanewise-evidence":
        raise RequestError(f"{path} is no evidence of lanewise tune; remove it or name another")
    return records[0], [record for record in records[1:] if record.get("record") != "end"]


def complete(path: Path) -> bool:
    """Tell whether an evidence file ends with the record of a run that came to its end."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return bool(lines) and json.loads(lines[-1]).get("record") == "end"


def tuning_from(context: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Tuning:
    """Draw the rules from evidence; RequestError where a record does not fit."""
    points: dict[str, list[Point]] = {}
    for record in records:
        values = {key: value for key, value in record.items() if key not in MORE}
        try:
            point = point_of(values, str(record.get("key")))
        except FaultError as fault:
            raise RequestError(f"the native program and this command do not fit: {fault}") from None
        points.setdefault(record["collective"], []).append(point)
    margin = float(context["margin"])
    return Tuning(
        lanewise=context["lanewise"],
        created=context["started"],
        mpi_family=context["mpi"]["family"],
        mpi_library=context["mpi"]["library"],
        ranks=context["ranks"],
        layout=layout_of([place["host"] for place in context["placement"]]),
        margin=margin,
        confidence=float(context["confidence"]),
        collectives={
            name: decide(name, points[name], margin) for name in COLLECTIVES if name in points
        },
        same_bits=context.get("same_bits", ""),
    )


def layout_of(hosts: Iterable[str]) -> tuple[int, ...]:
    """Return the ranks on each host, given each rank's host; hosts by their first ranks."""
    counts: dict[str, int] = {}
    for host in hosts:
        counts[host] = counts.get(host, 0) + 1
    return tuple(counts.values())
