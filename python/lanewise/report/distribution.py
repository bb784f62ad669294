# SPDX-License-Identifier: BSD-3-Clause
"""Distribution: the samples of one point as the page shows them, a histogram and dots.

The histogram is of all samples.  Of many samples the dots are a random part, since every second or
tenth would show one half of a time that alternates.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

# More dots than this are not told apart in the panel.
SAMPLES_DRAWN_MAX = 1000
# Far less than any clock tells from nothing; of numbers near the least, scripts make no axis.
LEAST_DRAWN_S = 1e-21
# Far more than anything takes; of the largest numbers there are, the difference is infinite.
MOST_DRAWN_S = 1e300
# Where the largest sample is so many times the smallest, bins are alike on a logarithmic axis.
LOGARITHMIC_FROM = 4


def rounded(value_s: float, digits: int) -> float:
    """Return a time with so many significant digits, within what can be drawn.

    It is zero where it is next to nothing.
    """
    if abs(value_s) < LEAST_DRAWN_S:
        return 0.0
    return float(f"{max(-MOST_DRAWN_S, min(value_s, MOST_DRAWN_S)):.{digits}g}")


def drawn_of(samples_s: Sequence[float]) -> tuple[list[float], list[int] | None]:
    """Return the samples that are drawn, and their numbers from 1 unless all are."""
    count = len(samples_s)
    if count <= SAMPLES_DRAWN_MAX:
        return [rounded(sample, 5) for sample in samples_s], None
    places = sorted(random.Random(0).sample(range(count), SAMPLES_DRAWN_MAX))
    return [rounded(samples_s[place], 5) for place in places], [place + 1 for place in places]


def histogram_of(samples_s: Sequence[float]) -> dict[str, Any] | None:
    """Return the counts of all samples in bins of one width, from `low` on; None without samples.

    Where `logarithmic`, `low` and `width` are of decimal logarithms.  Samples that are alike are
    one bin without width.
    """
    if not samples_s:
        return None
    values = np.asarray([rounded(sample, 5) for sample in samples_s], dtype=np.float64)
    logarithmic = bool(values.min() > 0 and values.max() > LOGARITHMIC_FROM * values.min())
    if logarithmic:
        values = np.log10(values)
    low, high = float(values.min()), float(values.max())
    bins = _bins(values, high - low) if high > low else 1
    counts = np.histogram(values, bins, (low, high))[0] if high > low else [len(values)]
    return {
        "low": low,
        "width": (high - low) / bins,
        "counts": [int(count) for count in counts],
        "logarithmic": logarithmic,
    }


def _bins(values: np.ndarray[Any, np.dtype[np.float64]], span: float) -> int:
    """Return how many bins show the bulk of the values, whatever outliers do.

    Freedman and Diaconis, On the histogram as a density estimator, 1981.
    """
    lower, upper = np.quantile(values, (0.25, 0.75))
    bulk = 2 * float(upper - lower) / math.cbrt(len(values))
    return max(4, math.ceil(span / max(bulk or span / 20, span / 120)))
