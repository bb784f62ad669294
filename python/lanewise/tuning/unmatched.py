# SPDX-License-Identifier: BSD-3-Clause
"""Unmatched: whether a program made no call of a size for which a tuning file has a rule.

The report of a run counts calls by collective and by ranges of sizes, powers of two.  A range
that overlaps a rule counts as matched, because nothing tells where in it the calls were.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lanewise.results.quantity import size_text
from lanewise.tuning.content import Tuning
from lanewise.tuning.read import load_all

NAMED_MAX = 3


def sentence(report: Path, tuning: Path) -> str:
    """Return that the file has no rule for any call of the program, and for which; or nothing."""
    calls = json.loads(report.read_text(encoding="utf-8"))["calls"]
    if not calls or any(call["intercepted"] for call in calls):
        return ""
    layouts = load_all(tuning)
    if any(is_ruled(call, layouts) for call in calls):
        return ""
    return (
        f"{tuning.name} has no rule for the sizes of this program: {named(calls)}; "
        "measure them with lanewise tune --sizes"
    )


def is_ruled(call: Mapping[str, Any], layouts: Sequence[Tuning]) -> bool:
    """Tell whether a rule of any layout is for some size of a range of calls."""
    found = (layout.collectives.get(call["collective"]) for layout in layouts)
    return any(
        rule.from_bytes <= call["to_bytes"] and call["from_bytes"] <= rule.to_bytes
        for collective in found
        if collective is not None
        for rule in collective.rules
    )


def named(calls: Iterable[Mapping[str, Any]]) -> str:
    """Return the ranges with the most data: `scatter from 512 KiB, gather from 512 KiB`."""
    most = sorted(calls, key=lambda call: call["forwarded"] * call["from_bytes"], reverse=True)
    words = [f"{call['collective']} from {size_text(call['from_bytes'])}" for call in most]
    return ", ".join(words[:NAMED_MAX]) + (", ..." if len(words) > NAMED_MAX else "")
