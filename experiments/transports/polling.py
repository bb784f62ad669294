# SPDX-License-Identifier: BSD-3-Clause
"""Polling: what the rounds of a suite measured at each polling interval.

Repetitions of a round share its launch, so a round has one value: the median of its repetitions.
The centre and the interval are those over rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from lanewise.results.intervals import launch_interval
from lanewise.results.read import Samples


@dataclass(frozen=True)
class Polled:
    """One polling interval: the median of each round."""

    interval_s: float
    availability: list[float] = field(default_factory=list)
    rate_bytes_per_s: list[float] = field(default_factory=list)


def polled(runs: Sequence[Samples], message_bytes: int) -> dict[str, list[Polled]]:
    """Return the points of polling with messages of a size by transport, sorted by interval."""
    grouped: dict[str, dict[float, Polled]] = {}
    for run in runs:
        for record in run.polling:
            if record.message_bytes != message_bytes:
                continue
            points = grouped.setdefault(run.context.transport_name, {})
            interval_s = float(f"{record.interval_s:.4g}")
            point = points.setdefault(interval_s, Polled(interval_s))
            point.availability.append(statistics.median(record.availability))
            point.rate_bytes_per_s.append(statistics.median(record.rate_bytes_per_s))
    return {
        name: [point for _, point in sorted(points.items())] for name, points in grouped.items()
    }


def with_interval(key: str, by_round: Sequence[float], scale: float) -> dict[str, float]:
    """Return the centre over rounds under `key`, and the ends of its interval where it has one."""
    found = zip((key, f"{key}_low", f"{key}_high"), launch_interval(by_round), strict=True)
    return {name: scale * value for name, value in found if math.isfinite(value)}


def centre(by_round: Sequence[float]) -> float:
    """Return the centre over rounds."""
    return launch_interval(by_round)[0]


def ends_of(by_round: Sequence[float]) -> tuple[float, float]:
    """Return the interval to draw, the centre itself where there are too few rounds for one."""
    middle, low, high = launch_interval(by_round)
    return (low, high) if math.isfinite(low) else (middle, middle)
