# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of times and of their ratios, and tests: all statistics of this package.

What one launch of the ranks measures says little about the next, so the launch is the observation:
its time is the median of its repetitions.  Over launches the centre is the geometric mean of these
times, with Student's interval of the mean of their logarithms; two runs are compared by Welch's
test of these logarithms.

Within one launch no distribution is assumed.  The interval of a median lies between two order
statistics.  That of a ratio of medians is due to Price and Bonett, "Distribution-free confidence
intervals for difference and ratio of medians", Journal of Statistical Computation and Simulation
72, 2002: the variance of a log median comes from the spacing of two order statistics, c and
n + 1 - c with c = (n + 1)/2 - sqrt(n), divided by the normal quantile of the binomial probability
that they bracket the median.

Where one odd launch is not to decide, the centre is a trimmed mean: J. W. Tukey and
D. H. McLaughlin, "Less vulnerable confidence and significance procedures for location based on a
single sample: trimming/winsorization 1", Sankhya A 25, 1963.

Launches may be of several kinds in turn, such as those with each rank as root.  Where there are
fifteen of each, the kinds are strata: the centre is the mean of their trimmed means, so that what
differs between kinds is no noise: K. K. Yuen, "The two-sample trimmed t for unequal population
variances", Biometrika 61, 1974.  The degrees of freedom are Welch's less two, and no fewer than
those of the smallest stratum, since Welch's are themselves estimated.

The native programs have the same interval of a median, Student's, and the bootstrap of a fit
(src/base/statistics, src/model/fit).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import special

CONFIDENCE = 0.95
# With fewer repetitions the extreme order statistics cover the median less than 95 % of the time.
REPETITIONS_MIN = 6
# A single launch has no spread to learn from.
LAUNCHES_MIN = 2
# One launch in so many, at either end, does not count in a trimmed mean.
TRIMMED_OF = 10
# With fewer launches of a kind, its spread is known too badly for small p-values.
STRATUM_MIN = 15


def median_interval(values: Iterable[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of a median between two order statistics; NaN for too few values."""
    ordered = sorted(values)
    count = len(ordered)
    low = _binomial_quantile((1 - confidence) / 2, count) - 1 if count else -1
    if low < 0:
        return math.nan, math.nan
    return ordered[low], ordered[count - 1 - low]


def log_mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the logarithms of positive values, and its error, NaN for fewer than two.

    The error is the standard error of the mean.
    """
    return _mean(np.log(np.asarray(values, dtype=np.float64)))


def launch_interval(
    values: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Return centre, low and high over launches of one value each; NaN bounds for fewer than two.

    Where a value is not positive there are no logarithms, and the values themselves are used.
    """
    if not values:
        return math.nan, math.nan, math.nan
    if min(values) <= 0:
        centre, reach = _student(np.asarray(values, dtype=np.float64), confidence)
        return centre, centre - reach, centre + reach
    centre, reach = _student(np.log(np.asarray(values, dtype=np.float64)), confidence)
    return math.exp(centre), math.exp(centre - reach), math.exp(centre + reach)


def launch_ratio(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float, float, float]:
    """Return the ratio second/first over launches, its bounds, and Welch's two-sided p-value.

    Bounds and p-value are NaN for fewer than two launches in either, all for a value that is not
    positive.
    """
    if min(*first, *second) <= 0:
        return math.nan, math.nan, math.nan, math.nan
    logs = [np.log(np.asarray(values, dtype=np.float64)) for values in (first, second)]
    centre = float(logs[1].mean() - logs[0].mean())
    if min(len(first), len(second)) < LAUNCHES_MIN:
        return math.exp(centre), math.nan, math.nan, math.nan
    parts = [float(values.var(ddof=1)) / len(values) for values in logs]
    spread = math.sqrt(sum(parts))
    if spread == 0:
        return math.exp(centre), math.exp(centre), math.exp(centre), 1.0 if centre == 0 else 0.0
    freedom = spread**4 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True)
    )
    reach = _student_quantile(confidence, freedom) * spread
    p_value = 2 * float(special.stdtr(freedom, -abs(centre) / spread))
    return math.exp(centre), math.exp(centre - reach), math.exp(centre + reach), p_value


def _student_quantile(confidence: float, freedom: float) -> float:
    """Return how many standard errors an interval of a mean reaches to either side."""
    return -float(special.stdtrit(freedom, (1 - confidence) / 2))


def _binomial_quantile(probability: float, count: int) -> int:
    """Return the least number of heads in `count` tosses that is reached so probably."""
    found = max(math.ceil(special.bdtrik(probability, count, 0.5)), 0)
    while found > 0 and special.bdtr(found - 1, count, 0.5) >= probability:
        found -= 1
    return found


def _mean(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    centre, count = float(values.mean()), len(values)
    if count < LAUNCHES_MIN:
        return centre, math.nan
    return centre, float(values.std(ddof=1)) / math.sqrt(count)


def _student(values: np.ndarray[Any, Any], confidence: float) -> tuple[float, float]:
    centre, error = _mean(values)
    return centre, _student_quantile(confidence, len(values) - 1) * error


def trimmed_ratio(
    ratios: Sequence[float], confidence: float = CONFIDENCE, strata: Sequence[int] = ()
) -> tuple[float, float, float]:
    """Return centre, low and high of ratios of launches, the odd ones at either end left out.

    The bounds are those of the trimmed mean of their logarithms, NaN for fewer than two launches.
    `strata` says of which kind each launch is; none: all are of one.
    """
    centre, spread, freedom = _stratified(ratios, strata)
    if freedom < 1:
        return math.exp(centre), math.nan, math.nan
    reach = _student_quantile(confidence, freedom) * spread
    return math.exp(centre), math.exp(centre - reach), math.exp(centre + reach)


def p_value_below(ratios: Sequence[float], bound: float, strata: Sequence[int] = ()) -> float:
    """Return the one-sided p-value for ratios of launches whose trimmed mean lies below `bound`.

    It is Student's for the trimmed mean of their logarithms; of a single launch there is none, so
    1.  `strata` says of which kind each launch is; none: all are of one.
    """
    if len(ratios) < LAUNCHES_MIN:
        return 1.0
    centre, spread, freedom = _stratified(ratios, strata)
    distance = centre - math.log(bound)
    if spread == 0:
        return 0.0 if distance < 0 else 1.0
    return float(special.stdtr(freedom, distance / spread))


def p_value_above(ratios: Sequence[float], bound: float, beside: Sequence[float]) -> float:
    """Return the one-sided p-value for a few ratios of launches whose mean lies above `bound`.

    A few launches do not show how far launches differ, so that is taken from the launches `beside`
    them, as in a prediction of what comes next.  Where either are fewer than two there is none: 1.
    """
    if min(len(ratios), len(beside)) < LAUNCHES_MIN:
        return 1.0
    distance = float(np.log(ratios).mean()) - math.log(bound)
    spread = float(np.log(beside).std(ddof=1)) / math.sqrt(len(ratios))
    if spread == 0:
        return 0.0 if distance > 0 else 1.0
    return float(special.stdtr(len(beside) - 1, -distance / spread))


def _stratified(ratios: Sequence[float], strata: Sequence[int]) -> tuple[float, float, float]:
    """Return the mean of the trimmed means of strata, its standard error and degrees of freedom.

    Where a stratum has few launches, or there are no strata, all launches are of one.
    """
    kinds: dict[int, list[float]] = {}
    for stratum, ratio in zip(strata or [0] * len(ratios), ratios, strict=True):
        kinds.setdefault(stratum, []).append(ratio)
    if len(kinds) < 2 or min(map(len, kinds.values())) < STRATUM_MIN:
        return _trimmed(ratios)
    centres, spreads, freedoms = zip(*map(_trimmed, kinds.values()), strict=True)
    squares = [spread**2 for spread in spreads]
    parts = [square**2 / freedom for square, freedom in zip(squares, freedoms, strict=True)]
    welch = sum(squares) ** 2 / sum(parts) if any(parts) else 0.0
    spread = math.sqrt(sum(squares)) / len(kinds)
    return math.fsum(centres) / len(kinds), spread, max(welch - 2, min(freedoms))


def _trimmed(ratios: Sequence[float]) -> tuple[float, float, int]:
    """Return the trimmed mean of the logarithms, its standard error and the degrees of freedom.

    Fewer than ten ratios lose none of them: then all of this is Student's.
    """
    logs = np.sort(np.log(np.asarray(ratios, dtype=np.float64)))
    count = len(logs)
    cut = count // TRIMMED_OF
    kept = logs[cut : count - cut]
    if count < LAUNCHES_MIN:
        return float(kept.mean()), math.nan, 0
    winsorized = np.clip(logs, kept[0], kept[-1])
    spread = float(winsorized.std(ddof=1)) / ((1 - 2 * cut / count) * math.sqrt(count))
    return float(kept.mean()), spread, len(kept) - 1


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses are rejected, so that any is rejected wrongly at most at `level`.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.  It holds however the hypotheses depend on each other.
    """
    rejected = [False] * len(p_values)
    for done, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > level / (len(p_values) - done):
            break
        rejected[place] = True
    return rejected


def log_median_variance(values: Sequence[float]) -> float:
    """Return the variance of the logarithm of the sample median of positive `values`."""
    ordered = np.log(np.sort(np.asarray(values, dtype=np.float64)))
    count = len(ordered)
    rank = max(1, round((count + 1) / 2 - math.sqrt(count)))
    tail = float(special.bdtr(rank - 1, count, 0.5))
    spacing = float(ordered[count - rank] - ordered[rank - 1])
    return (spacing / (2 * float(special.ndtri(tail)))) ** 2


def ratio_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the interval of median(second)/median(first) at `confidence`.

    NaN on both sides for fewer than six values in either, or a value that is not positive.
    """
    if min(len(first), len(second)) < REPETITIONS_MIN or min(*first, *second) <= 0:
        return math.nan, math.nan
    centre = math.log(float(np.median(second)) / float(np.median(first)))
    spread = math.sqrt(log_median_variance(first) + log_median_variance(second))
    reach = float(special.ndtri((1 + confidence) / 2)) * spread
    return math.exp(centre - reach), math.exp(centre + reach)


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value of Mann and Whitney's test; NaN where a side is empty."""
    if not first or not second:
        return math.nan
    if len(set(first) | set(second)) == 1:
        return 1.0
    from scipy import stats  # noqa: PLC0415 (half a second, and seldom needed)

    return float(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue)
