# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront chaining: the time of an iteration when K waves share a pass.

Out-of-core wavefront (2008), Figure 7b, let a second wave start before the first had ended and
gained about 20 % per iteration, limited by what the page cache still held.  Chained over strips,
each further wave needs no more bytes from the disk, so the time falls with 1/K until the kernel
limits it.  The disk is throttled to 200 MB/s where the machine allows it, the rate of a fast disk
of 2008, so that the volume of transfers decides and not the load of a shared disk.  Sweeps have a
quarter of the matrices' bytes as memory, page cache included, and a user's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Cap, capped
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

DISK_BYTES_PER_S = 200 << 20


@dataclass(frozen=True)
class Scale:
    """How large the matrices are, and which numbers of waves share a pass."""

    side: int = 8192
    waves: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)

    @property
    def cap_bytes(self) -> int:
        """Return what a sweep may have in memory, page cache included."""
        return 8 * len(sweeps.MATRICES) * self.side * self.side // 4

    @property
    def budget_bytes(self) -> int:
        """Return the budget that a sweep is given: the kernel has pages of its own in the cap."""
        return self.cap_bytes * 5 // 6


WHOLE, QUICK = Scale(), Scale(side=4096, waves=(1, 2, 4, 8, 16, 32, 64))


def run(workspace: Workspace, scale: Scale = WHOLE) -> Outcome:
    """Time one pass for each number of waves."""
    ends: dict[int, dict[str, Any]] = {}
    cap = Cap(memory_bytes=scale.cap_bytes, disk_bytes_per_s=DISK_BYTES_PER_S)
    with (
        sweeps.store(workspace, scale.side) as store,
        capped(cap, workspace.folder) as applied,
    ):
        if scale == WHOLE:
            applied.require()
        for waves in scale.waves:
            workspace.say(f"{waves} waves in one pass")
            options = ("--waves", str(waves), "--memory", str(scale.budget_bytes))
            ends[waves] = sweeps.iterate(store, waves, *options, join=applied.joiner())
    per_iteration_s = {waves: end["user_s"] / waves for waves, end in ends.items()}
    figures = {f"seconds_per_iteration_k{waves}": s for waves, s in per_iteration_s.items()}
    best_s = min(per_iteration_s.values())
    figures["speedup_over_k1"] = per_iteration_s[1] / best_s
    figures["speedup_k2_over_k1"] = per_iteration_s[1] / per_iteration_s[2]
    bars = [Bar(f"K = {waves}", seconds) for waves, seconds in per_iteration_s.items()]
    return Outcome(
        figures=figures,
        rows=_rows(per_iteration_s),
        conditions={"rows": scale.side, "columns": scale.side, "budget_bytes": scale.budget_bytes,
                    "memory_bytes": scale.cap_bytes if applied.memory else "not capped",
                    "disk_bytes_per_s": DISK_BYTES_PER_S if applied.disk else "not capped",
                    "threads": ends[1]["threads"], "simd": ends[1]["simd"]},
        files=workspace.save(
            draw_bars([("Time of an iteration", bars)], time_text, scale="log"),
            "wavefront-chaining",
        ),
        notes=applied.notes,
        curves={"waves/strips": list(per_iteration_s.items())},
    )  # fmt: skip


def _rows(per_iteration_s: dict[int, float]) -> list[Row]:
    rows = [
        Row(f"{waves} waves: an iteration", "", time_text(seconds))
        for waves, seconds in per_iteration_s.items()
    ]
    two = three_digits(per_iteration_s[1] / per_iteration_s[2])
    best = three_digits(per_iteration_s[1] / min(per_iteration_s.values()))
    return [*rows, Row("2 waves over 1", "1.20", two), Row("best over 1", "", best)]


_PASS = Estimator("time of an iteration of one pass", 1, 1, "pass for each number of waves")

EXPERIMENT = Experiment(
    name="wavefront-chaining",
    paper="002 Fig. 7b",
    summary="the time of an iteration for 1 to 128 waves in one pass over the disk",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=45.0),
    figures=(
        Figure(
            "speedup_over_k1", "ratio",
            Estimator("of one wave over the best number of waves", 1, 1, _PASS.of),
            Target(">=", 10.0),
        ),
        Figure(
            "speedup_k2_over_k1", "ratio", Estimator("of one wave over two", 1, 1, _PASS.of),
            "the paper's 1.20 stands beside it; the target is for the best number of waves",
        ),
        Figure("seconds_per_iteration_k{waves}", "s", _PASS, "it depends on the disk"),
    ),
)  # fmt: skip
