# SPDX-License-Identifier: BSD-3-Clause
"""Winners: which way between sites is the fastest at a point, and how good the choice of it is.

A point is a collective under one set of conditions.  Its ways are the MPI's default, one lane and P
lanes.  A way wins if it is the fastest, but as in a tuning, the default wins unless another is
faster by the margin, and of the others the one with the fewest lanes that is as fast.  What is
chosen is chosen in the same way from predicted times, before anything but the lanes is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

# That of lanewise tune.
MARGIN = 0.03
DEFAULT, ONE_LANE = "default", "single_lane"
# What a choice may lose, in the targets of the other experiments as well.
GOOD = 1.05


def lanes_way(lanes: int) -> str:
    """Return the name of the way over `lanes` lanes."""
    return ONE_LANE if lanes == 1 else f"multilane:0:{lanes}"


def lanes_of(way: str) -> int:
    """Return how many lanes a way takes; 0 for the default."""
    if way == DEFAULT:
        return 0
    return 1 if way == ONE_LANE else int(way.rpartition(":")[2])


def fastest(times_s: Mapping[str, float]) -> str:
    """Return the way with the fewest lanes among those that are the fastest, up to the margin."""
    least_s = min(times_s.values())
    as_fast = [way for way, seconds in times_s.items() if (1 - MARGIN) * seconds <= least_s]
    return min(as_fast, key=lanes_of)


@dataclass(frozen=True)
class Point:
    """The seconds of each way, measured and predicted, under some conditions."""

    collective: str
    ratio: float
    """The rate of one host over that of the link between the sites."""
    round_trip_s: float
    limit: str
    """What holds a connection back: a buffer, or a loss."""
    measured_s: Mapping[str, float]
    predicted_s: Mapping[str, float]

    @property
    def winner(self) -> str:
        """Return the way that wins as measured."""
        return fastest(self.measured_s)

    @property
    def chosen(self) -> str:
        """Return the way that wins as predicted."""
        return fastest(self.predicted_s)

    @property
    def chosen_over_best(self) -> float:
        """Return the time of what is chosen over the least of all."""
        return self.measured_s[self.chosen] / min(self.measured_s.values())

    @property
    def is_good(self) -> bool:
        """Say whether the choice is the winner, or as good."""
        return self.chosen == self.winner or self.chosen_over_best <= GOOD

    def kept(self) -> dict[str, object]:
        """Return the point as it is kept with a run."""
        return {
            **asdict(self),
            "measured_s": {way: float(f"{each:.4g}") for way, each in self.measured_s.items()},
            "predicted_s": {way: float(f"{each:.4g}") for way, each in self.predicted_s.items()},
        }


def figures_of(points: Sequence[Point]) -> dict[str, float]:
    """Return how often which way wins, and how good the choices are."""
    over_best = [point.chosen_over_best for point in points]
    won = [min(2, lanes_of(point.winner)) for point in points]
    names = ("default_wins", "one_lane_wins", "lanes_win")
    return {
        "good_choices_percent": 100 * statistics.mean(point.is_good for point in points),
        "chosen_over_best_median": statistics.median(over_best),
        "chosen_over_best_worst": max(over_best),
        "points": len(points),
        **{name: won.count(lanes) for lanes, name in enumerate(names)},
    }
