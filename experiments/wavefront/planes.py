# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront 3d: how close a sweep of planes over the disk comes to the same sweep in memory.

Beyond out-of-core wavefront (2008), section 6, in three dimensions.  The yardstick is the same
program with the same options on a store that is in memory (tmpfs), whole: what it does not do is
wait for a disk.  The sweeps over the disk have a quarter of the matrices' bytes as memory, page
cache included, and the clock is that of a user.  Each stands between two runs in memory and is
compared with their mean; the median of the rounds counts, with its interval.
"""

from __future__ import annotations

import itertools
import math
import shutil
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Cap, capped
from experiments.wavefront.limits import SHARE_MAX, share_bar, shares
from experiments.workspace import Workspace
from lanewise import wavefront
from lanewise.errors import RunError
from lanewise.plots import draw_bars
from lanewise.results.intervals import median_interval
from lanewise.results.quantity import percent_text, size_text, three_digits

ROUNDS, PASSES = 7, 2
MATRICES, ELEMENT_BYTES = 2, 8
IN_MEMORY = Path("/dev/shm")
Cells = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """How large the matrices are, how many waves a pass has, and how many rounds there are."""

    sides: tuple[int, int, int] = (512, 384, 384)
    waves: int = 24
    rounds: int = ROUNDS

    @property
    def cells(self) -> int:
        """Return the cells of a matrix."""
        return math.prod(self.sides)

    @property
    def matrices_bytes(self) -> int:
        """Return the bytes of both matrices."""
        return MATRICES * ELEMENT_BYTES * self.cells

    @property
    def cap_bytes(self) -> int:
        """Return what a sweep over the disk may have in memory, page cache included."""
        return self.matrices_bytes // 4

    @property
    def budget_bytes(self) -> int:
        """Return the budget that a sweep is given: the kernel has pages of its own in the cap."""
        return self.cap_bytes * 5 // 6


WHOLE, QUICK = Scale(), Scale(sides=(256, 256, 256), waves=12, rounds=2)


@dataclass
class Measured:
    """The ends of the runs: one more in memory than over the disk between them."""

    memory: list[dict[str, Any]]
    disk: list[dict[str, Any]]
    sums: set[str]


def run(workspace: Workspace, scale: Scale = WHOLE) -> Outcome:
    """Sweep over the disk between sweeps in memory, and compare the bits with the plain loops."""
    options = ("--waves", str(scale.waves), "--memory", str(scale.budget_bytes))
    sides = ("--shape", ",".join(map(str, scale.sides)), "--kernel", "sor-3d")
    found = Measured([], [], set())
    with (
        room_in_memory(scale) as folder,
        sweeps.made(folder / "store", *sides) as in_memory,
        sweeps.made(workspace.folder / "store", *sides) as on_disk,
        capped(Cap(memory_bytes=scale.cap_bytes), workspace.folder) as applied,
    ):
        if scale == WHOLE:
            applied.require()
        found.memory.append(sweeps.iterate(in_memory, PASSES * scale.waves, *options))
        for number in range(scale.rounds):
            workspace.say(f"round {number + 1} of {scale.rounds}: {scale.waves} waves")
            found.disk.append(
                sweeps.iterate(on_disk, PASSES * scale.waves, *options, join=applied.joiner())
            )
            found.sums |= {sweeps.sums_of(on_disk), sweeps.sums_of(in_memory)}
            found.memory.append(sweeps.iterate(in_memory, PASSES * scale.waves, *options))
        memory_bytes = scale.cap_bytes if applied.memory else "not capped"
    # Each round leaves other data, the same on the disk and in memory.
    same = len(found.sums) == scale.rounds and same_as_loops((9, 8, 7), iterations=10, waves=3)
    figures = {**figures_of(found, scale), "bits_equal": float(same)}
    return Outcome(
        figures=figures,
        rows=_rows(figures, scale),
        conditions={"sides": list(scale.sides), "waves": scale.waves,
                    "threads": found.disk[0]["threads"], "memory_bytes": memory_bytes,
                    "budget_bytes": scale.budget_bytes, "matrices_bytes": scale.matrices_bytes,
                    "io": found.disk[0]["io"]},
        files=workspace.save(
            draw_bars([("Share of the limit", [share_bar(f"{scale.waves} waves, of memory", figures,
                                                         "kstar_fraction_of_memory")])],
                      percent_text, target=0.7),
            "wavefront-3d",
        ),
        notes=applied.notes,
        launches={"kstar_fraction_of_memory": fractions(found, scale)},
    )  # fmt: skip


@contextmanager
def room_in_memory(scale: Scale) -> Iterator[Path]:
    """Give a folder in memory with room for a store; RunError where there is too little."""
    wanted = 2 * scale.matrices_bytes  # a pass writes its data beside the last one's
    free = shutil.disk_usage(IN_MEMORY).free if IN_MEMORY.is_dir() else 0
    if free < wanted:
        raise RunError(
            f"{IN_MEMORY} has {size_text(free)} free, and the sweep in memory needs "
            f"{size_text(wanted)}; make it larger by mount -o remount,size={wanted} {IN_MEMORY}"
        )
    with TemporaryDirectory(prefix="lanewise-wavefront-", dir=IN_MEMORY) as folder:
        yield Path(folder)


def figures_of(found: Measured, scale: Scale) -> dict[str, float]:
    """Return the share of memory with its interval, the rates, and the peak over the cap."""
    by_round = fractions(found, scale)
    low, high = median_interval(by_round)
    share = statistics.median(by_round)
    return {
        "kstar_fraction_of_memory": share,
        "kstar_fraction_of_memory_low": low,
        "kstar_fraction_of_memory_high": high,
        "share_of_a_limit_max": share,
        "kstar_fraction_worst": min(by_round),
        "peak_over_cap": max(end["peak_memory_bytes"] for end in found.disk) / scale.cap_bytes,
        "memory_cells_per_s": statistics.median(_rates(found.memory, scale)),
        "kstar_cells_per_s": statistics.median(_rates(found.disk, scale)),
    }


def fractions(found: Measured, scale: Scale) -> list[float]:
    """Return the share of each round."""
    in_memory = itertools.pairwise(_rates(found.memory, scale))
    return shares(_rates(found.disk, scale), list(in_memory))


def _rates(ends: list[dict[str, Any]], scale: Scale) -> list[float]:
    return [scale.cells * end["iterations"] / end["user_s"] for end in ends]


def same_as_loops(sides: tuple[int, int, int], iterations: int, waves: int) -> bool:
    """Tell whether `sor-3d` leaves the bits of three nested loops over random cells."""
    random = np.random.default_rng(1)
    u, f = random.standard_normal(sides), random.standard_normal(sides)
    looped = u.copy()
    for _ in range(iterations):
        sweep_by_loops(looped, f)
    wavefront.run([u, f], "sor-3d", iterations=iterations, waves=waves)
    return u.tobytes() == looped.tobytes()


def sweep_by_loops(u: Cells, f: Cells, omega: float = 1.5) -> None:
    """Do one iteration of successive over-relaxation of the inner cells of u, in place."""
    planes, lines, cells = u.shape
    for i in range(1, planes - 1):
        for j in range(1, lines - 1):
            for k in range(1, cells - 1):
                before = (u[i - 1, j, k] + u[i, j - 1, k]) + u[i, j, k - 1]
                after = (u[i, j, k + 1] + u[i, j + 1, k]) + u[i + 1, j, k]
                new = (before + after) - f[i, j, k]
                u[i, j, k] = (1.0 - omega) * u[i, j, k] + (omega / 6.0) * new


def _rows(figures: dict[str, float], scale: Scale) -> list[Row]:
    million = 1e6
    low, high = (figures[f"kstar_fraction_of_memory_{end}"] for end in ("low", "high"))
    share = percent_text(figures["kstar_fraction_of_memory"])
    known = not math.isnan(low)
    return [
        Row("in memory, Mcells/s", "", f"{figures['memory_cells_per_s'] / million:.0f}"),
        Row(f"{scale.waves} waves a pass over the disk, Mcells/s", "",
            f"{figures['kstar_cells_per_s'] / million:.0f}"),
        Row("share of memory", "",
            f"{share}, {percent_text(low)} to {percent_text(high)}" if known else share),
        Row("peak memory over the cap", "", three_digits(figures["peak_over_cap"])),
        Row("same bits", "", "yes" if figures["bits_equal"] else "no"),
    ]  # fmt: skip


_OF = "median over rounds of a run over the mean of the runs in memory before and after it"
_ROUNDS = Estimator("median of the rounds", ROUNDS, 1, "run")
_RATE = "it depends on the disk and the processor; what is judged is the share of the limit"

EXPERIMENT = Experiment(
    name="wavefront-3d",
    paper="002 §6",
    summary="a sweep of planes over the disk against the same sweep in memory",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=30.0),
    figures=(
        Figure(
            "kstar_fraction_of_memory", "ratio",
            Estimator(_OF, ROUNDS, PASSES, "passes"),
            Target(">=", 0.7, at_most=SHARE_MAX),
        ),
        Figure(
            "share_of_a_limit_max", "ratio",
            Estimator("the share; above the target the yardstick is bad", 1, ROUNDS, "rounds"),
            Target("<=", SHARE_MAX),
        ),
        Figure(
            "bits_equal", "0 or 1",
            Estimator("whether disk and memory give the same bits after each round, and a small "
                      "matrix those of three nested loops", 1, ROUNDS, "rounds"),
            Target(">=", 1.0),
        ),
        Figure(
            "peak_over_cap", "ratio",
            Estimator("the highest peak of all runs over the cap", 1, ROUNDS, "runs"),
            Target("<=", 1.0),
        ),
        Figure(
            "kstar_fraction_worst", "ratio",
            Estimator("least of the rounds", ROUNDS, PASSES, "passes"),
            "the target is for the median",
        ),
        Figure("memory_cells_per_s", "cells/s", _ROUNDS, _RATE),
        Figure("kstar_cells_per_s", "cells/s", _ROUNDS, _RATE),
    ),
)  # fmt: skip
