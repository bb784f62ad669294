# SPDX-License-Identifier: BSD-3-Clause
"""The knee of post-work-wait: where work stops being free.

With little work the loop takes as long as the transfer, whatever the work; with much it takes the
work and what the host must do for the messages.  Two lines, one level and one of slope one, are
fitted to all points at once, and the knee is where they meet:

    loop(work) = max(base, work + overhead)

Availability is 1 - overhead / base (Sandia's SMB).  The original asks for a threshold between the
two regimes by trial; a fit needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lanewise.results.records import Waiting

# Work this many times as long as the loop without work shows what advances by itself.
LONG_WORK = 3.0


@dataclass(frozen=True)
class Knee:
    """The two lines: `base_s` of the loop without work, `overhead_s` above the work."""

    base_s: float
    overhead_s: float

    @property
    def availability(self) -> float:
        """Return the share of the transfer's time that is left for work."""
        return min(1.0, max(0.0, 1 - self.overhead_s / self.base_s)) if self.base_s > 0 else 0.0

    @property
    def work_s(self) -> float:
        """Return the work at which the lines meet."""
        return max(0.0, self.base_s - self.overhead_s)


def fit_knee(work_s: Sequence[float], loop_s: Sequence[float]) -> Knee:
    """Fit both lines to points sorted by work; every split of the points is tried.

    The points before a split give the level, those after it the overhead, both as medians, so
    that a disturbed point does not move them; the split with the least relative error wins.
    """
    work, loop = np.asarray(work_s, dtype=np.float64), np.asarray(loop_s, dtype=np.float64)
    best, least = Knee(float(loop[0]), float(loop[0])), np.inf
    for split in range(1, len(work)):
        base = float(np.median(loop[:split]))
        overhead = float(np.median(loop[split:] - work[split:]))
        error = float(np.sum(np.abs(np.maximum(base, work + overhead) / loop - 1)))
        if error < least:
            best, least = Knee(base, overhead), error
    return best


@dataclass(frozen=True)
class HostCost:
    """What messages of one size cost the host.

    `overlap` is the share of work as long as the transfer that was done during it; `progress` is
    the share of the transfer that advances with no call to the MPI: after much work the wait takes
    1 - progress of the time that the transfer takes alone.
    """

    message_bytes: int
    knee: Knee
    overlap: float
    progress: float


def host_costs(records: Sequence[Waiting]) -> list[HostCost]:
    """Return the cost of each size from the records of post-work-wait."""
    costs = []
    for size in sorted({record.message_bytes for record in records}):
        group = sorted(
            (one for one in records if one.message_bytes == size), key=lambda one: one.over_base
        )
        work = [float(np.median(one.alone_s)) for one in group]
        loop = [float(np.median(one.loop_s)) for one in group]
        knee = fit_knee(work, loop)
        waits = [v for one in group if one.over_base >= LONG_WORK for v in one.wait_s]
        alone = [v for one in group if one.over_base == 0 for v in one.wait_s]
        left = float(np.median(waits) / np.median(alone)) if waits and alone else 1.0
        costs.append(HostCost(size, knee, overlap_of(work, loop, knee.base_s), share(1 - left)))
    return costs


def overlap_of(work_s: Sequence[float], loop_s: Sequence[float], base_s: float) -> float:
    """Return the share of work hidden by the transfer, where the work is most nearly as long."""
    if base_s <= 0:
        return 0.0
    at = min(range(len(work_s)), key=lambda index: abs(work_s[index] - base_s))
    return share((base_s + work_s[at] - loop_s[at]) / work_s[at]) if work_s[at] > 0 else 0.0


def share(value: float) -> float:
    """Return a share, which noise may have carried out of its range."""
    return min(1.0, max(0.0, value))
