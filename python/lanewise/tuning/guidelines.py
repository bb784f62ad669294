# SPDX-License-Identifier: BSD-3-Clause
"""Guidelines: which of an MPI's performance guidelines the evidence says are broken.  Pure.

A guideline `left <= right` is broken where the right side is significantly faster, by the margin,
in the race and again in its confirmation: the rule by which a tuning rule is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanewise.tuning.decide import clearly_below
from lanewise.tuning.read import figures_of


@dataclass(frozen=True)
class Judged:
    """A guideline at one size; `factor` is how many times slower the left side is.

    It is infinite where only the right side takes no time, as simulated calls without data may.
    """

    guideline: str
    kind: str
    collective: str
    message_bytes: int
    left_s: float
    right_s: float
    factor: float
    broken: bool


def judge(record: Mapping[str, Any], margin: float) -> Judged:
    """Judge one record of lanewise-check; times are of the confirmation where there is one."""
    left, right = figures_of(record["left"], "left"), figures_of(record["right"], "right")
    broken = clearly_below(right, left, margin)
    confirmation = record.get("confirmation")
    if confirmation is None:
        broken = False
    else:
        left = figures_of(confirmation["left"], "left")
        right = figures_of(confirmation["right"], "right")
        broken = broken and clearly_below(right, left, margin)
    return Judged(
        guideline=record["guideline"],
        kind=record["kind"],
        collective=record["collective"],
        message_bytes=record["message_bytes"],
        left_s=left.median_s,
        right_s=right.median_s,
        factor=factor_between(left.median_s, right.median_s),
        broken=broken,
    )


def factor_between(left_s: float, right_s: float) -> float:
    """Return one time over another; two that are nothing are equal."""
    if right_s > 0:
        return left_s / right_s
    return math.inf if left_s > 0 else 1.0
