# SPDX-License-Identifier: BSD-3-Clause
"""Pool: all samples of a point, from all rounds, and what they say together.

A round is a launch of the ranks, and the launch is the observation: see results/intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.results.intervals import (
    LAUNCHES_MIN,
    launch_interval,
    launch_ratio,
    median_interval,
    ratio_interval,
)
from lanewise.results.read import Samples, load
from lanewise.suite.state import SAMPLES


@dataclass(frozen=True)
class Key:
    """What a pooled point is of."""

    transport: str
    benchmark: str
    message_bytes: int


@dataclass
class Pooled:
    """One point over all rounds: every sample, and the median of each round."""

    samples_s: list[float] = field(default_factory=list)
    round_medians_s: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """Return the geometric mean of the medians of the rounds."""
        return launch_interval(self.round_medians_s)[0]

    def interval_s(self) -> tuple[float, float]:
        """Return the interval over rounds; of one round the interval of the median within it."""
        if len(self.round_medians_s) < LAUNCHES_MIN:
            return median_interval(self.samples_s)
        return launch_interval(self.round_medians_s)[1:]

    def ratio_to(self, other: Pooled) -> tuple[float, float, float]:
        """Return how many times as long this takes as `other`, with the interval."""
        if min(len(self.round_medians_s), len(other.round_medians_s)) < LAUNCHES_MIN:
            low, high = ratio_interval(other.samples_s, self.samples_s)
            return self.median_s / other.median_s, low, high
        return launch_ratio(other.round_medians_s, self.round_medians_s)[:3]


Pool = Mapping[Key, Pooled]


def files_of(folder: Path, launches: Iterable[str]) -> list[Samples]:
    """Return the result files of the launches that left one, in the order of their names."""
    paths = [folder / SAMPLES / f"{name}.jsonl" for name in sorted(launches)]
    return [load(path) for path in paths if path.is_file() and path.stat().st_size > 0]


def pool(files: Iterable[Samples]) -> dict[Key, Pooled]:
    """Return the points of all files together."""
    pooled: dict[Key, Pooled] = {}
    for samples in files:
        for point in samples.points:
            key = Key(samples.context.transport_name, point.operation, point.message_bytes)
            found = pooled.setdefault(key, Pooled())
            found.samples_s += point.samples_s
            found.round_medians_s.append(point.median_s)
    return pooled
