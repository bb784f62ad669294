# SPDX-License-Identifier: BSD-3-Clause
"""Rank the transports in one quantity, and say where the difference is significant.

Two transports differ where the interval of the ratio of their times over rounds leaves one out.
Transports that do not differ from the best of a place share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.suite.pool import Pooled


@dataclass(frozen=True)
class Ranked:
    """A transport in a ranking: `slower` is its time over the best's, with its interval."""

    place: int
    transport: str
    median_s: float
    low_s: float
    high_s: float
    slower: float
    slower_low: float
    slower_high: float


def differ(faster: Pooled, slower: Pooled) -> bool:
    """Say whether the second is significantly slower than the first."""
    _, low, _ = slower.ratio_to(faster)
    return low > 1


def ranking(points: Mapping[str, Pooled]) -> list[Ranked]:
    """Rank transports by time, the fastest first; those that do not differ share a place."""
    order = sorted(points, key=lambda name: points[name].median_s)
    ranked: list[Ranked] = []
    leader, place = "", 0
    for number, name in enumerate(order, start=1):
        if not leader or differ(points[leader], points[name]):
            leader, place = name, number
        ranked.append(entry(points, order, name, place))
    return ranked


def entry(points: Mapping[str, Pooled], order: Sequence[str], name: str, place: int) -> Ranked:
    """Return the line of one transport."""
    best, here = points[order[0]], points[name]
    slower, low, high = here.ratio_to(best)
    return Ranked(
        place, name, here.median_s, *here.interval_s(),
        slower=slower, slower_low=low, slower_high=high,
    )  # fmt: skip
