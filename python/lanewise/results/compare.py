# SPDX-License-Identifier: BSD-3-Clause
"""Compare two runs, point by point and over all sizes.

Of a point: the ratio of the medians B/A with a distribution-free interval (Price and Bonett,
"Distribution-free confidence intervals for difference and ratio of medians", Journal of
Statistical Computation and Simulation 72, 2002), and the rank-sum test of Mann and Whitney.  The
variance of a log median comes from the spacing of two order statistics, c and n + 1 - c with
c = (n + 1)/2 - sqrt(n), divided by the normal quantile of the binomial probability that they
bracket the median.

Over sizes: each size gives one log ratio; their geometric mean, and Wilcoxon's signed-rank test
of whether they lie around zero.  Repetitions are taken as independent: a machine that drifts
between two runs shows as a difference, so runs to be compared should alternate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from lanewise.errors import RequestError
from lanewise.results.read import Samples
from lanewise.results.records import Point

# With fewer repetitions the extreme order statistics cover the median less than 95 % of the time.
REPETITIONS_MIN = 6
SIZES_MIN = 6

Key = tuple[str, int, int, int, int, int, int]


@dataclass(frozen=True)
class Ratio:
    """One point in two runs: `ratio` is the second run's median over the first's.

    `low` and `high` bound the ratio and `p_value` is of the rank-sum test; NaN where there are
    too few repetitions.
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


@dataclass(frozen=True)
class Overall:
    """All points of one operation: geometric mean of the ratios and the signed-rank p-value."""

    operation: str
    pairs: int
    ratio: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """What two runs have in common, and how many points only one of them has."""

    ratios: list[Ratio]
    overall: list[Overall]
    only_first: int
    only_second: int


def compare(first: Samples, second: Samples, confidence: float = 0.95) -> Comparison:
    """Compare the points that both files have.

    Raises RequestError for a confidence outside (0, 1) or where no point is in both.
    """
    if not 0 < confidence < 1:
        raise RequestError(f"confidence {confidence:g} is not between 0 and 1; try 0.95")
    left, right = by_key(first), by_key(second)
    common = [key for key in left if key in right]
    if not common:
        raise RequestError(
            f"{first.path} and {second.path} have no point in common "
            "(same operation, ranks, root and size)"
        )
    ratios = [ratio_of(key, left[key], right[key], confidence) for key in common]
    return Comparison(
        ratios=ratios,
        overall=overall_of(ratios),
        only_first=len(left) - len(common),
        only_second=len(right) - len(common),
    )


def by_key(samples: Samples) -> dict[Key, Point]:
    """Return the points of a file by what was measured; of two alike the later."""
    ranks = samples.context.ranks
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


def ratio_of(key: Key, first: Point, second: Point, confidence: float) -> Ratio:
    """Compare one point of two runs."""
    operation, ranks, root, peer, second_peer, message_bytes, _ = key
    pair = "" if peer < 0 else f"{root}-{peer}" + ("" if second_peer < 0 else f",{second_peer}")
    first_s, second_s = first.median_s, second.median_s
    low, high = ratio_interval(first.samples_s, second.samples_s, confidence)
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
        p_value=rank_sum(first.samples_s, second.samples_s),
    )


def log_median_variance(values: Sequence[float]) -> float:
    """Return the variance of the logarithm of the sample median of positive `values`."""
    ordered = np.log(np.sort(np.asarray(values, dtype=np.float64)))
    count = len(ordered)
    rank = max(1, round((count + 1) / 2 - math.sqrt(count)))
    tail = float(stats.binom.cdf(rank - 1, count, 0.5))
    spacing = float(ordered[count - rank] - ordered[rank - 1])
    return (spacing / (2 * float(stats.norm.isf(tail)))) ** 2


def ratio_interval(
    first: Sequence[float], second: Sequence[float], confidence: float
) -> tuple[float, float]:
    """Return the interval of median(second)/median(first) at `confidence`.

    NaN on both sides for fewer than six values in either, or a value that is not positive.
    """
    if min(len(first), len(second)) < REPETITIONS_MIN or min(*first, *second) <= 0:
        return math.nan, math.nan
    centre = math.log(float(np.median(second)) / float(np.median(first)))
    spread = math.sqrt(log_median_variance(first) + log_median_variance(second))
    reach = float(stats.norm.isf((1 - confidence) / 2)) * spread
    return math.exp(centre - reach), math.exp(centre + reach)


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Mann and Whitney's test; NaN where a side is empty."""
    if not first or not second:
        return math.nan
    if len(set(first) | set(second)) == 1:
        return 1.0
    return float(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue)


def overall_of(ratios: Sequence[Ratio]) -> list[Overall]:
    """Sum the points up, an entry an operation in the order of the file."""
    names = list(dict.fromkeys(ratio.operation for ratio in ratios))
    return [
        overall_for(name, [ratio for ratio in ratios if ratio.operation == name]) for name in names
    ]


def overall_for(operation: str, ratios: Sequence[Ratio]) -> Overall:
    """Sum one operation up; the p-value is NaN below six sizes, where it cannot be small."""
    logs = [math.log(ratio.ratio) for ratio in ratios if ratio.ratio > 0]
    if not logs:
        return Overall(operation, 0, math.nan, math.nan)
    p_value = math.nan
    if len(logs) >= SIZES_MIN:
        p_value = float(stats.wilcoxon(logs).pvalue) if any(logs) else 1.0
    return Overall(operation, len(logs), math.exp(sum(logs) / len(logs)), p_value)


def slower(ratios: Sequence[Ratio], limit: float) -> list[Ratio]:
    """Return the points that are slower by more than `limit` (0.05 is 5 %) beyond doubt."""
    return [ratio for ratio in ratios if ratio.low > 1 + limit]
