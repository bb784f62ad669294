# SPDX-License-Identifier: BSD-3-Clause
"""Several launches of the same measurement become one set of points.

Ranks that are started anew get other addresses, pages and cores, and are often faster or slower
for their whole life.  So what was measured in one launch counts as one observation of a point,
however many repetitions there were, and the interval of a point is over launches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from lanewise.results.records import Point

# A limit that one launch reached says more about a point than the narrow intervals of the others.
_STOPPED_FIRST = ("time_limit", "maximum", "fixed", "interval")


@dataclass(frozen=True)
class PointOverLaunches(Point):
    """One operation at one size over several launches.

    `median_s` and `mean_s` are the geometric means of the launches' medians and means, and
    `low_s` and `high_s` bound the one that the stopping rule is about.  Counts are sums, and
    `samples_s` are the repetitions of all launches one after the other, and `launch_repetitions`
    how many are of each.  `stopped` is a limit that any launch reached, or "interval" where the
    intervals of all were narrow enough.
    `launch_medians_s` has one median for each launch (one mean with --rule student, and where
    another tool printed no medians), and `of_means` tells which.
    """

    launch_medians_s: tuple[float, ...] = ()
    of_means: bool = False
    launch_repetitions: tuple[int, ...] = ()

    @property
    def centre_s(self) -> float:
        """Return what the interval is of: the median, or the mean."""
        return self.mean_s if self.of_means else self.median_s

    @property
    def number(self) -> str:
        """Return what the centre is: "median" or "mean"."""
        return "mean" if self.of_means else "median"

    @property
    def launch_count(self) -> int:
        """Return how many launches the interval is over."""
        return len(self.launch_medians_s)


class PointOfMeans(Point):
    """A point of one launch whose interval is of the mean, by --rule student."""

    @property
    def centre_s(self) -> float:
        """Return the mean."""
        return self.mean_s

    @property
    def number(self) -> str:
        """Return what the centre is."""
        return "mean"


def over_launches(points: Iterable[Point], stopping: Mapping[str, Any]) -> list[Point]:
    """Return the points of several launches, one for each operation, size and ranks.

    A point of a single launch stays as it is, with the interval within that launch.
    """
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        groups.setdefault(key_of(point), []).append(point)
    return [together(group, stopping) for group in groups.values()]


def medians_of(point: Point) -> tuple[float, ...]:
    """Return the median of each launch of a point in seconds, or the mean if its centre is that."""
    return point.launch_medians_s if isinstance(point, PointOverLaunches) else (point.centre_s,)


def repetitions_of(point: Point) -> tuple[int, ...]:
    """Return how many of the samples of a point are of each launch."""
    if isinstance(point, PointOverLaunches):
        return point.launch_repetitions
    return (len(point.samples_s),)


def by_launch(points: Iterable[Point], launched: Iterable[Point]) -> list[dict[int, float]]:
    """Return for each point its medians in seconds by the number of the launch.

    They are means where the interval of the point is of the mean.  `launched` are the points of
    single launches.  A launch that lacks the point is left out.
    """
    found: dict[tuple[Any, ...], dict[int, Point]] = {}
    for one in launched:
        found.setdefault(key_of(one), {})[one.launch] = one
    return [
        {
            launch: one.mean_s if point.number == "mean" else one.median_s
            for launch, one in found.get(key_of(point), {point.launch: point}).items()
        }
        for point in points
    ]  # fmt: skip


def key_of(point: Point) -> tuple[Any, ...]:
    """Return what a point is of, in any launch."""
    ranks = (point.root, point.peer, point.second_peer)
    return point.operation, ranks, point.message_bytes, point.reply_bytes, point.definition


def together(group: Sequence[Point], stopping: Mapping[str, Any]) -> Point:
    """Return one point for all launches of it; of one measured twice in a launch the later.

    A launch without a time, as where no repetition began together, does not count beside others.
    """
    every = list({point.launch: point for point in group}.values())
    timed = [one for one in every if not math.isnan(one.median_s) or not math.isnan(one.mean_s)]
    launches = timed or every[-1:]
    student = stopping.get("rule") == "student"
    if len(launches) == 1:
        values = {item.name: getattr(launches[0], item.name) for item in fields(Point)}
        return PointOfMeans(**values) if student else launches[0]
    from lanewise.results.intervals import CONFIDENCE, launch_interval

    last = launches[-1]
    # Many tools print no medians.
    means = student or any(math.isnan(one.median_s) for one in launches)
    times = tuple(point.mean_s if means else point.median_s for point in launches)
    confidence = float(stopping.get("confidence", CONFIDENCE))
    centre_s, low_s, high_s = launch_interval(times, confidence)
    other_s = launch_interval([point.median_s if means else point.mean_s for point in launches])[0]
    values = {item.name: getattr(last, item.name) for item in fields(Point)}
    values |= {
        "median_s": other_s if means else centre_s,
        "mean_s": centre_s if means else other_s,
        "low_s": low_s,
        "high_s": high_s,
        "stopped": min((point.stopped for point in launches), key=_STOPPED_FIRST.index),
        "samples_s": tuple(value for point in launches for value in point.samples_s),
    }
    for name in ("min_s", "max_s", "pure_s", "work_s"):
        found = [getattr(point, name) for point in launches]
        values[name] = None if None in found else launch_interval(found)[0]
    for name in ("repetitions", "late_count", "outlier_count", "batches", "elapsed_s"):
        values[name] = sum(getattr(point, name) for point in every)
    counts = tuple(len(point.samples_s) for point in launches)
    return PointOverLaunches(
        **values, launch_medians_s=times, of_means=means, launch_repetitions=counts
    )
