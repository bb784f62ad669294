# SPDX-License-Identifier: BSD-3-Clause
"""A rule in words, as tables show it."""

from __future__ import annotations

from lanewise.results.quantity import size_text
from lanewise.tuning.content import BYTES_MAX, CollectiveTuning, Rule
from lanewise.tuning.decide import gains


def lanes_text(lanes: int) -> str:
    """Return a number of lanes."""
    return f"{lanes} lanes" if lanes > 1 else "1 lane"


def sizes_text(rule: Rule) -> str:
    """Return the sizes of a rule."""
    if rule.to_bytes == BYTES_MAX:
        return "all"
    first, last = size_text(rule.from_bytes), size_text(rule.to_bytes)
    return first if first == last else f"{first} - {last}"


def algorithm_text(rule: Rule) -> str:
    """Return an algorithm with its segment and its lanes."""
    lanes = f", {lanes_text(rule.lanes)}" if rule.lanes > 1 else ""
    segment = f" ({size_text(rule.segment_bytes)})" if rule.segment_bytes else ""
    return rule.algorithm + lanes + segment


def ratio_text(content: CollectiveTuning, rule: Rule, origin: str, margin: float) -> str:
    """Return the confirmed times over the default's at the sizes of a rule, least and most."""
    found = [
        gain
        for point in content.points
        if rule.from_bytes <= point.message_bytes <= rule.to_bytes
        for choice, gain in gains(point, origin, margin).items()
        if (choice.algorithm, choice.segment_bytes, choice.lanes)
        == (rule.algorithm, rule.segment_bytes, rule.lanes)
    ]
    if not found:
        return ""
    least, most = f"{min(found):.2f}", f"{max(found):.2f}"
    return least if least == most else f"{least} - {most}"
