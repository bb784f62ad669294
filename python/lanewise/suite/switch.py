# SPDX-License-Identifier: BSD-3-Clause
"""Protocol switches: where a curve of time against size begins to follow another line.

An MPI sends small messages eagerly and large ones after a handshake; each protocol costs about
a + b m.  The curve is cut into the segments that fit it best, each with a line of its own, errors
relative (the comparison of InfiniPath and XD1, 2006, section 4, calls the cuts hitches and finds
them by eye).  A cut must pay: the
Bayesian information criterion asks each for more than chance gives, with the noise known from the
intervals of the points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

SEGMENT_POINTS_MIN = 3
# What a further segment brings: two parameters of its line, and a place that was sought among all,
# which counts twice.
SEGMENT_PARAMETERS = 4
# Points scatter at least this much around a line that would be their true cost.
NOISE_MIN = 0.05
# A change that moves the time by less than this is none that a user would care about.
JUMP_MIN = 0.1

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Switch:
    """A cut: the last size of one protocol, the first of the next, and how the time jumps there.

    `jump` is the time at `above_bytes` over what the line before predicts for it.
    """

    below_bytes: int
    above_bytes: int
    jump: float


def switches(
    sizes_bytes: Sequence[int], times_s: Sequence[float], noise: float = NOISE_MIN
) -> list[Switch]:
    """Return the cuts of a curve; `noise` is the relative error of its points."""
    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    times = np.asarray(times_s, dtype=np.float64)
    if len(sizes) < 2 * SEGMENT_POINTS_MIN or np.any(times <= 0):
        return []
    cuts = best_cuts(sizes, times, max(noise, NOISE_MIN))
    edges = [0, *cuts]
    found = []
    for begin, cut in zip(edges, cuts, strict=False):
        intercept, slope = line(sizes[begin:cut], times[begin:cut])
        before_s = intercept + slope * float(sizes[cut])
        jump = float(times[cut]) / before_s if before_s > 0 else math.inf
        if abs(jump - 1) >= JUMP_MIN:
            found.append(Switch(int(sizes[cut - 1]), int(sizes[cut]), jump))
    return found


def best_cuts(sizes: Array, times: Array, noise: float) -> list[int]:
    """Return where segments begin, the first left out, for the least penalised error."""
    count = len(sizes)
    penalty = SEGMENT_PARAMETERS * math.log(count)

    @cache
    def cost(begin: int, end: int) -> float:
        intercept, slope = line(sizes[begin:end], times[begin:end])
        errors = (intercept + slope * sizes[begin:end]) / times[begin:end] - 1
        return float(np.sum((errors / noise) ** 2))

    best: list[tuple[float, int]] = [(0.0, 0)] + [(math.inf, 0)] * count
    for end in range(SEGMENT_POINTS_MIN, count + 1):
        for begin in range(end - SEGMENT_POINTS_MIN + 1):
            if math.isinf(best[begin][0]):
                continue
            total = best[begin][0] + cost(begin, end) + penalty
            if total < best[end][0]:
                best[end] = (total, begin)
    cuts = []
    end = best[count][1]
    while end > 0:
        cuts.append(end)
        end = best[end][1]
    return cuts[::-1]


def line(sizes: Array, times: Array) -> tuple[float, float]:
    """Return intercept and slope, neither negative, that fit with the least relative error."""
    scale = float(sizes[-1]) or 1.0
    columns = np.column_stack([1 / times, sizes / scale / times]) * float(times[0])
    found, _ = nnls(columns, np.ones(len(sizes)))
    return float(found[0] * times[0]), float(found[1] * times[0] / scale)
