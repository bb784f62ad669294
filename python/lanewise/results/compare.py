# SPDX-License-Identifier: BSD-3-Clause
"""Compare two runs, point by point and over all sizes.

Of a point: the ratio B/A over the launches of the ranks, with the interval and the p-value of
Welch's test of the logarithms.  Where a side has one launch only, the ratio of the medians with
the distribution-free interval and the rank-sum test of Mann and Whitney within these launches,
which say nothing about the next one, and a note that says so.

Over sizes: the geometric mean of the ratios, and Welch's test of the launches, each of which gives
one number: the mean of the logarithms over its sizes.  Sizes of one launch depend on each other, so
they are no observations of their own, and single launches have no such test.  A machine that drifts
between two runs shows as a difference, so runs to be compared should alternate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean, median

from lanewise.errors import RequestError
from lanewise.results.definitions import by_definition_of, notes_of_definitions
from lanewise.results.differing import differing
from lanewise.results.intervals import (
    LAUNCHES_MIN,
    launch_ratio,
    rank_sum,
    ratio_interval,
)
from lanewise.results.launches import by_launch, medians_of
from lanewise.results.quantity import size_text
from lanewise.results.read import Samples
from lanewise.results.records import Point

Key = tuple[str, int, int, int, int, int, int]
# The time of each launch of a point in seconds, by the number of the launch.
Times = Mapping[int, float]


@dataclass(frozen=True)
class Ratio:
    """One point in two runs: `ratio` is the second run's time over the first's.

    `low` and `high` bound the ratio and `p_value` is of the test named by `test`, Welch's over
    launches or the rank-sum test within one: NaN where there are too few repetitions.  `launches`
    is the smaller number of launches of the two, `first_launches` and `second_launches`, and
    `label` names a pair.  `first_number` and `second_number` say what the times are: medians,
    means, or what an imported tool printed.
    """

    operation: str
    ranks: int
    message_bytes: int
    label: str
    first_s: float
    second_s: float
    ratio: float
    low: float
    high: float
    p_value: float
    launches: int = 1
    root: int = 0
    test: str = "rank-sum"
    first_number: str = "median"
    second_number: str = "median"
    first_launches: int = 1
    second_launches: int = 1

    @property
    def has_times(self) -> bool:
        """Tell whether both sides have a time, which they lack where all repetitions were late."""
        return not math.isnan(self.first_s) and not math.isnan(self.second_s)


@dataclass(frozen=True)
class Overall:
    """All points of one operation: the geometric mean of the ratios, and Welch's p-value.

    That is over launches, of the mean of each over the sizes; NaN for fewer than two of a side.
    """

    operation: str
    pairs: int
    ratio: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """What two runs have in common, and how many points only one of them has.

    `numbers` says what the times of ratios over launches are, or of all where none is.  `paths`
    are the files of the runs, and `confidence` is that of the intervals.
    """

    ratios: list[Ratio]
    overall: list[Overall]
    only_first: int
    only_second: int
    numbers: tuple[str, str] = ("median", "median")
    notes: list[str] = field(default_factory=list)
    paths: tuple[str, str] = ("", "")
    confidence: float = 0.95


def compare(first: Samples, second: Samples, confidence: float = 0.95) -> Comparison:
    """Compare the points that both files have.

    Raises RequestError for a confidence outside (0, 1) or where no point is in both.
    """
    if not 0 < confidence < 1:
        raise RequestError(f"confidence {confidence:g} is not between 0 and 1; try 0.95")
    require_points(first)
    require_points(second)
    first, second = by_definition_of(second, first), by_definition_of(first, second)
    ranks = (first.context.ranks, second.context.ranks)
    left, right = by_key(first, ranks[0] or ranks[1]), by_key(second, ranks[1] or ranks[0])
    common = [key for key in left if key in right]
    if not common:
        raise RequestError(
            f"{first.path} and {second.path} have no point in common "
            "(same operation, ranks, root and size)"
        )
    printed = (printed_by(first), printed_by(second))
    ratios = [ratio_of(key, left[key], right[key], confidence, printed) for key in common]
    over_launches = next((one for one in ratios if one.launches >= LAUNCHES_MIN), ratios[0])
    return Comparison(
        ratios=ratios,
        overall=overall_of(ratios, launched(first, left, common), launched(second, right, common)),
        only_first=len(left) - len(common),
        only_second=len(right) - len(common),
        numbers=(over_launches.first_number, over_launches.second_number),
        notes=[
            *dict.fromkeys([*first.warnings, *second.warnings]),
            *notes_of("A", first, ranks, ratios),
            *notes_of("B", second, ranks, ratios),
            *notes_of_definitions(first, second),
            *differing(first.context, second.context),
            *launch_notes([(left[key], right[key]) for key in common], ratios),
        ],
        paths=(str(first.path), str(second.path)),
        confidence=confidence,
    )


def require_points(samples: Samples) -> None:
    """Raise RequestError for a file that has nothing but what messages cost the processor."""
    if (samples.polling or samples.waiting) and not samples.launch_points:
        raise RequestError(
            f"{samples.path} is of polling or post-work-wait, which are not compared; "
            "show both files on one page with lanewise report"
        )


def printed_by(samples: Samples) -> str:
    """Return what the number of a point is where a tool printed no median."""
    return str(samples.context.imported.get("number", "median"))


def notes_of(
    side: str, samples: Samples, ranks: tuple[int, int], ratios: Sequence[Ratio]
) -> list[str]:
    """Return what to know of an imported side: what it printed, and what was taken for granted."""
    context = samples.context
    if not context.imported:
        return []
    found = []
    alone = not any(one.samples_s or one.launch_count > 1 for one in samples.points)
    if alone and any(math.isnan(ratio.low) for ratio in ratios):
        found.append(
            f"{side}: {context.tool} printed one number per size ({context.imported['number']}), "
            "no samples: the ratios have no interval and no test; append several runs to its file"
        )
    if not context.ranks and max(ranks):
        found.append(f"{side}: the file does not name its ranks; taken to be {max(ranks)}")
    return found + [f"{side}: {note}" for note in context.imported.get("notes", [])]


def launch_notes(pairs: Sequence[tuple[Point, Point]], ratios: Sequence[Ratio]) -> list[str]:
    """Return what is to be known of points that one side has from a single launch, or all alike.

    `pairs` are the points of both sides, each with its ratio.
    """
    alike = [ratio for pair, ratio in zip(pairs, ratios, strict=True) if lacks_spread(*pair)]
    notes = {
        "of single launches: their intervals hold between these launches and say nothing about "
        "the next; measure both with --launches 5": [
            one for one in ratios if one.launches < LAUNCHES_MIN and not math.isnan(one.low)
        ],
        "of launches that all have the same time on their side, to its last digit: they have no "
        "interval and no test": [one for one in alike if one.launches >= LAUNCHES_MIN],
        "of single launches whose times around the median are all alike, to the last digit: they "
        "have no interval; measure both with --launches 5": [
            one for one in alike if one.launches < LAUNCHES_MIN and not math.isnan(one.p_value)
        ],
        "of single launches in which more than half of the times of a side are alike, to the last "
        "digit: they have no interval and no test": [
            one for one in alike if one.launches < LAUNCHES_MIN and math.isnan(one.p_value)
        ],
        "of points that have no time on a side, since all of their repetitions were late": [
            one for one in ratios if not one.has_times
        ],
    }
    return [f"{which_of(ratios, found)} are {what}" for what, found in notes.items() if found]


def which_of(ratios: Sequence[Ratio], found: Sequence[Ratio], most: int = 3) -> str:
    """Count some of the ratios, and name them where they are not all."""
    counted = f"{len(found)} of {len(ratios)} ratios"
    if len(found) == len(ratios):
        return counted
    names = ", ".join(map(name_of, found[:most]))
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{counted} ({names}{more})"


def name_of(ratio: Ratio) -> str:
    """Name a point, `scatter 8 B` or `pairs 0-1 8 B`."""
    return " ".join(filter(None, (ratio.operation, ratio.label, size_text(ratio.message_bytes))))


def by_key(samples: Samples, ranks: int) -> dict[Key, Point]:
    """Return the points of a file by what was measured, on `ranks`; of two alike the later."""
    return {
        (
            point.operation,
            ranks,
            point.root,
            -1 if point.peer is None else point.peer,
            -1 if point.second_peer is None else point.second_peer,
            point.message_bytes,
            -1 if point.reply_bytes is None else point.reply_bytes,
        ): point
        for point in samples.points
    }


def ratio_of(
    key: Key, first: Point, second: Point, confidence: float, printed: tuple[str, str]
) -> Ratio:
    """Compare one point of two runs; `printed` says what their numbers are if not medians."""
    operation, ranks, root, peer, second_peer, message_bytes, _ = key
    pair = "" if peer < 0 else f"{root}-{peer}" + ("" if second_peer < 0 else f",{second_peer}")
    launches = min(first.launch_count, second.launch_count)
    if launches >= LAUNCHES_MIN:
        first_s, second_s = first.centre_s, second.centre_s
        _, low, high, p_value = launch_ratio(medians_of(first), medians_of(second), confidence)
    else:
        first_s, second_s = within_launches(first), within_launches(second)
        low, high = ratio_interval(first.samples_s, second.samples_s, confidence)
        p_value = rank_sum(first.samples_s, second.samples_s)
    if lacks_spread(first, second):
        low, high = math.nan, math.nan
        if launches >= LAUNCHES_MIN or any(map(mostly_alike, (first.samples_s, second.samples_s))):
            p_value = math.nan
    return Ratio(
        operation=operation,
        ranks=ranks,
        message_bytes=message_bytes,
        label=pair,
        first_s=first_s,
        second_s=second_s,
        ratio=second_s / first_s if first_s > 0 else math.nan,
        low=low,
        high=high,
        p_value=p_value,
        launches=launches,
        root=root,
        test="Welch" if launches >= LAUNCHES_MIN else "rank-sum",
        first_number=number_of(first, launches, printed[0]),
        second_number=number_of(second, launches, printed[1]),
        first_launches=first.launch_count,
        second_launches=second.launch_count,
    )


def number_of(point: Point, launches: int, printed: str) -> str:
    """Return what the time of one side is, where the ratio is over so many launches."""
    if math.isnan(point.median_s):
        return printed
    return point.number if launches >= LAUNCHES_MIN else "median"


def lacks_spread(first: Point, second: Point) -> bool:
    """Tell whether several launches of a point do not show how far launches differ.

    Of single launches: whether the repetitions around the median are all alike, so that the
    interval has no width, unless all repetitions of both sides have one time.
    """
    if min(first.launch_count, second.launch_count) < LAUNCHES_MIN:
        low, high = ratio_interval(first.samples_s, second.samples_s)
        return low == high and len({*first.samples_s, *second.samples_s}) > 1
    return differ_without_spread(medians_of(first), medians_of(second))


def mostly_alike(times_s: Sequence[float]) -> bool:
    """Tell whether more than half of the times are the same one.

    A rank-sum test then tells where the clock ticks, or how many of the others are odd.
    """
    return 2 * max(Counter(times_s).values(), default=0) > len(times_s)


def differ_without_spread(first: Sequence[float], second: Sequence[float]) -> bool:
    """Tell whether all launches of each side have one time, and the sides different ones.

    The digits or the clock were then too coarse to show how far launches differ.
    """
    return len(set(first)) == len(set(second)) == 1 and first[0] != second[0]


def within_launches(point: Point) -> float:
    """Return the median of all repetitions, or the number that another tool printed."""
    if point.launch_count > 1 and point.samples_s:
        return median(point.samples_s)
    return point.mean_s if math.isnan(point.median_s) else point.median_s


def launched(
    samples: Samples, points: dict[Key, Point], common: Sequence[Key]
) -> list[dict[int, float]]:
    """Return the time of each launch of each common point in seconds, by the launch's number."""
    return by_launch([points[key] for key in common], samples.launch_points)


def overall_of(
    ratios: Sequence[Ratio], first: Sequence[Times], second: Sequence[Times]
) -> list[Overall]:
    """Sum the points up, one entry per operation in the order of the file.

    Each point has its ratio, and the times of the launches of both sides.
    """
    found: dict[str, list[tuple[Ratio, Times, Times]]] = {}
    for point in zip(ratios, first, second, strict=True):
        found.setdefault(point[0].operation, []).append(point)
    return [overall_for(operation, points) for operation, points in found.items()]


def overall_for(operation: str, points: Sequence[tuple[Ratio, Times, Times]]) -> Overall:
    """Sum one operation up."""
    found = [(ratio.ratio, first, second) for ratio, first, second in points if ratio.ratio > 0]
    if not found:
        return Overall(operation, 0, math.nan, math.nan)
    ratios, first, second = zip(*found, strict=True)
    return Overall(operation, len(ratios), geometric_mean(ratios), welch_over_sizes(first, second))


def welch_over_sizes(first: Sequence[Times], second: Sequence[Times]) -> float:
    """Return the p-value of launches that have all sizes; NaN for fewer than two of a side."""
    sides = over_sizes(first), over_sizes(second)
    if min(map(len, sides)) < LAUNCHES_MIN or differ_without_spread(*sides):
        return math.nan
    return launch_ratio(*sides)[3]


def over_sizes(sizes: Sequence[Times]) -> list[float]:
    """Return the geometric mean over the sizes for each launch that has a time at all of them."""
    return [
        geometric_mean([times[launch] for times in sizes])
        for launch in sizes[0]
        if all(times.get(launch, 0) > 0 for times in sizes)
    ]
