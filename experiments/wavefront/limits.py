# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront limits: how close a sweep over the disk comes to the disk and to memory.

Beyond out-of-core wavefront (2008), section 6.  With one wave per pass a sweep can be no faster
than the disk, which fio measures besides; with enough waves it can be no faster than the same
kernel on the same threads in memory.  The sweeps have a quarter of the matrices' bytes as memory,
page cache included, and their clock is that of a user: it starts with the program and ends with it.
The rate of a shared disk fluctuates by a factor of two within seconds, so fio replays the passes of
the sweep on the same files, and both come first in turn.  Each run is compared with the mean of its
yardstick before and after it; the median of the rounds counts, with its interval.  Nothing is
faster than its limit: a share that is clearly above 1 says that the yardstick is bad, so that it
does not meet its target.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.wavefront import disk, sweeps
from experiments.wavefront.capped import Cap, capped
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import median_interval
from lanewise.results.quantity import percent_text, rate_text, three_digits

WAVES_FIRST, WAVES_MIN, WAVES_MAX = 64, 32, 128
OVER_BREAK_EVEN = 2  # as the plan does: the disk may slow down without harm
PASSES = 2
ITERATIONS_OF_ONE = 4
ROUNDS = 7
SHARES = ("k1_fraction_of_disk", "kstar_fraction_of_memory")
SHARE_MAX = 1.05


@dataclass(frozen=True)
class Scale:
    """How large the matrices are, how many rounds there are, and how long fio tries each way."""

    side: int = 8192
    waves_max: int = WAVES_MAX  # more do not fit into the budget
    rounds: int = ROUNDS
    fio_ms: int = 500

    @property
    def cells(self) -> int:
        """Return the cells of a matrix."""
        return self.side * self.side

    @property
    def matrices_bytes(self) -> int:
        """Return the bytes of all matrices."""
        return 8 * len(sweeps.MATRICES) * self.cells

    @property
    def cap_bytes(self) -> int:
        """Return what a sweep may have in memory, page cache included."""
        return self.matrices_bytes // 4

    @property
    def budget_bytes(self) -> int:
        """Return the budget that a sweep is given: the kernel has pages of its own in the cap."""
        return self.cap_bytes * 5 // 6


WHOLE, QUICK = Scale(), Scale(side=4096, waves_max=64, rounds=2, fio_ms=100)


@dataclass
class Measured:
    """What the rounds gave: one more of each yardstick than of the runs.

    `trials` are those of all ways of fio.  `disk` has the rates of the best of them, in bytes per
    second, of which `between` says for each run on one wave which came before it and which after.
    """

    trials: list[disk.Rates]
    disk: list[float]
    between: list[tuple[int, int]]
    one: list[dict[str, Any]]
    memory: list[dict[str, Any]]
    many: list[dict[str, Any]]


def run(workspace: Workspace, scale: Scale = WHOLE) -> Outcome:
    """Measure disk, one wave, memory and many waves, interleaved; count bytes; compare bits."""
    with (
        sweeps.store(workspace, scale.side) as store,
        disk.prepared(store, workspace.folder, ITERATIONS_OF_ONE) as fio,
        capped(Cap(memory_bytes=scale.cap_bytes), workspace.folder) as applied,
    ):
        if scale == WHOLE:
            applied.require()
        found = Measured([], [], [], [], [], [])

        def replay() -> None:
            found.trials.append(fio.rates(scale.fio_ms))
            found.disk.append(fio.rate(disk.best_way(found.trials)))

        def sweep(iterations: int, waves: int) -> dict[str, Any]:
            options = ("--waves", str(waves), "--memory", str(scale.budget_bytes))
            return sweeps.iterate(store, iterations, *options, join=applied.joiner())

        def one_wave() -> None:
            before = len(found.disk) - 1
            found.one.append(sweep(ITERATIONS_OF_ONE, 1))
            found.between.append((before, before + 1))

        workspace.say("how many waves hide this disk")
        sweep(ITERATIONS_OF_ONE, 1)
        found.trials.append(fio.rates(scale.fio_ms))
        first_memory = sweeps.rates_in_memory(scale.side, WAVES_FIRST)["simd_chained_cells_per_s"]
        wanted = waves_for(max(found.trials[0].values()), first_memory)
        waves = min(wanted, scale.waves_max)
        replay()
        found.memory.append(sweeps.rates_in_memory(scale.side, waves))
        for number in range(scale.rounds):
            workspace.say(f"round {number + 1} of {scale.rounds}: one wave, {waves} waves")
            first, second = one_wave, replay
            if number % 2 == 1:
                first, second = second, first
            first()
            found.many.append(sweep(PASSES * waves, waves))
            second()
            found.memory.append(sweeps.rates_in_memory(scale.side, waves))
        if found.between[-1][1] == len(found.disk):
            replay()
        memory_bytes = scale.cap_bytes if applied.memory else "not capped"
    bits = _same_bits(workspace) and all(rates["bits_equal"] for rates in found.memory)
    figures = {**figures_of(found, scale), "bits_equal": float(bits)}
    return Outcome(
        figures=figures,
        rows=_rows(figures, waves),
        conditions={"rows": scale.side, "columns": scale.side, "waves": waves,
                    "threads": found.many[0]["threads"], "memory_bytes": memory_bytes,
                    "budget_bytes": scale.budget_bytes, "matrices_bytes": scale.matrices_bytes,
                    "fio": disk.best_way(found.trials), "simd": found.many[0]["simd"],
                    "io": found.many[0]["io"]},
        files=workspace.save(
            draw_bars([("Share of the limit", _bars(figures, waves))], percent_text),
            "wavefront-limits",
        ),
        notes=applied.notes,
        launches=figures_by_round(found, scale),
    )  # fmt: skip


def waves_for(disk_bytes_per_s: float, cells_per_s: float) -> int:
    """Return twice K* = F 56 / (rate of the disk), in whole groups of 16 waves."""
    break_even = cells_per_s * sweeps.BYTES_PER_CELL / disk_bytes_per_s
    whole = 16 * math.ceil(OVER_BREAK_EVEN * break_even / 16)
    return min(max(whole, WAVES_MIN), WAVES_MAX)


def figures_of(found: Measured, scale: Scale = WHOLE) -> dict[str, float]:
    """Return the figures from the ends of the runs, each between two of its yardsticks."""
    by_round = figures_by_round(found, scale)
    first = found.many[0]
    expected = sweeps.BYTES_PER_CELL * scale.cells * first["iterations"] / first["waves"]
    return {
        **_medians(by_round),
        "k1_fraction_worst": min(by_round["k1_fraction_of_disk"]),
        "kstar_fraction_worst": min(by_round["kstar_fraction_of_memory"]),
        "io_bytes_ratio": _moved(first) / expected,
        "peak_over_cap": max(end["peak_memory_bytes"] for end in found.one + found.many)
        / scale.cap_bytes,
        "disk_bytes_per_s": statistics.median(found.disk),
        "k1_bytes_per_s": statistics.median(_moved(end) / end["user_s"] for end in found.one),
        "memory_cells_per_s": statistics.median(_in_memory(found)),
        "kstar_cells_per_s": statistics.median(_reached(found, scale)),
    }


def _medians(by_round: dict[str, list[float]]) -> dict[str, float]:
    """Return the median of each figure, the ends of its interval, and the largest share."""
    figures = {key: statistics.median(values) for key, values in by_round.items()}
    for key in SHARES:
        figures[f"{key}_low"], figures[f"{key}_high"] = median_interval(by_round[key])
    figures["share_of_a_limit_max"] = max(figures[key] for key in SHARES)
    return figures


def figures_by_round(found: Measured, scale: Scale = WHOLE) -> dict[str, list[float]]:
    """Return the shares of each round, and the speedups of each run in memory."""
    moved = [_moved(end) / end["user_s"] for end in found.one]
    in_memory = _in_memory(found)
    return {
        "k1_fraction_of_disk": shares(
            moved, [(found.disk[before], found.disk[after]) for before, after in found.between]
        ),
        "kstar_fraction_of_memory": shares(
            _reached(found, scale), list(itertools.pairwise(in_memory))
        ),
        "simd_speedup": [rates["simd_speedup"] for rates in found.memory],
        "simd_speedup_one_thread": [
            rates["simd_cells_per_s"] / rates["naive_cells_per_s"] for rates in found.memory
        ],
    }


def _moved(end: dict[str, Any]) -> float:
    return float(end["read_bytes"] + end["written_bytes"])


def _reached(found: Measured, scale: Scale) -> list[float]:
    # The pipeline fills and drains within the time: it counts against the sweep.
    return [scale.cells * end["iterations"] / end["user_s"] for end in found.many]


def _in_memory(found: Measured) -> list[float]:
    return [float(rates["simd_chained_cells_per_s"]) for rates in found.memory]


def shares(rates: list[float], yardsticks: list[tuple[float, float]]) -> list[float]:
    """Return each rate over the mean of the yardstick before it and after it."""
    return [2 * rate / sum(pair) for rate, pair in zip(rates, yardsticks, strict=True)]


def _same_bits(workspace: Workspace) -> bool:
    """Iterate wave by wave, with some waves chained and with all, from the same contents."""
    sums = set()
    for waves in (1, 5, 12, 64):
        with sweeps.store(workspace, 1000) as store:
            sweeps.iterate(store, 64, "--waves", str(waves))
            sums.add(sweeps.sums_of(store))
    return len(sums) == 1


def _rows(figures: dict[str, float], waves: int) -> list[Row]:
    million = 1e6
    return [
        Row("disk, fio, 6 read : 1 written", "", rate_text(figures["disk_bytes_per_s"])),
        Row("one wave a pass", "", rate_text(figures["k1_bytes_per_s"])),
        Row("share of the disk", "", _share_text(figures, "k1_fraction_of_disk")),
        Row("kernel in memory, Mcells/s", "", f"{figures['memory_cells_per_s'] / million:.0f}"),
        Row(f"{waves} waves a pass, Mcells/s", "", f"{figures['kstar_cells_per_s'] / million:.0f}"),
        Row("share of memory", "", _share_text(figures, "kstar_fraction_of_memory")),
        Row("SIMD and threads over the naive loop", "", three_digits(figures["simd_speedup"])),
        Row("SIMD on one thread over it", "", three_digits(figures["simd_speedup_one_thread"])),
        Row("bytes moved over 56 N M / K", "", f"{figures['io_bytes_ratio']:.4f}"),
        Row("peak memory over the cap", "", three_digits(figures["peak_over_cap"])),
        Row("same bits", "", "yes" if figures["bits_equal"] else "no"),
    ]


def _share_text(figures: dict[str, float], key: str) -> str:
    low, high = figures[f"{key}_low"], figures[f"{key}_high"]
    share = percent_text(figures[key])
    return share if math.isnan(low) else f"{share}, {percent_text(low)} to {percent_text(high)}"


def _bars(figures: dict[str, float], waves: int) -> list[Bar]:
    return [
        share_bar("one wave, of the disk (target 90 %)", figures, "k1_fraction_of_disk"),
        share_bar(f"{waves} waves, of memory (target 85 %)", figures, "kstar_fraction_of_memory"),
    ]


def share_bar(name: str, figures: dict[str, float], key: str) -> Bar:
    """Return the bar of a share, with its interval where there are rounds enough for one."""
    low, high = figures[f"{key}_low"], figures[f"{key}_high"]
    if math.isnan(low):
        return Bar(name, figures[key])
    return Bar(name, figures[key], low=low, high=high)


_OF = "median over rounds of a run over the mean of its yardstick before and after it"
_BETWEEN_FIO = (
    "iterations between two replays of them by fio on the same files, in the best of its ways"
)
_BETWEEN_MEMORY = "passes between two runs in memory"
_ROUNDS = Estimator("median of the rounds", ROUNDS, 1, "run")
_RATE = "it depends on the disk and the processor; what is judged is the share of the limit"

EXPERIMENT = Experiment(
    name="wavefront-limits",
    paper="002 §6",
    summary="a sweep over the disk against the disk itself and against memory",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=60.0),
    figures=(
        Figure(
            "k1_fraction_of_disk", "ratio",
            Estimator(_OF, ROUNDS, ITERATIONS_OF_ONE, _BETWEEN_FIO),
            Target(">=", 0.9, at_most=SHARE_MAX),
        ),
        Figure(
            "kstar_fraction_of_memory", "ratio",
            Estimator(_OF, ROUNDS, PASSES, _BETWEEN_MEMORY),
            Target(">=", 0.85, at_most=SHARE_MAX),
        ),
        Figure(
            "share_of_a_limit_max", "ratio",
            Estimator("larger of the two shares; above the target a yardstick is bad", 1, ROUNDS,
                      "rounds"),
            Target("<=", SHARE_MAX),
        ),
        Figure(
            "simd_speedup", "ratio",
            Estimator("median over runs in memory of the rate over that of the naive loop",
                      ROUNDS + 1, 1, "run"),
            Target(">=", 4.0),
        ),
        Figure(
            "simd_speedup_one_thread", "ratio",
            Estimator("median over runs in memory of the rate of one thread, wave after wave, over "
                      "that of the naive loop", ROUNDS + 1, 1, "run"),
            "it tells what SIMD gives apart from threads; the target is for both",
        ),
        Figure(
            "peak_over_cap", "ratio",
            Estimator("the highest peak of all runs over the cap", 1, 2 * ROUNDS, "runs"),
            Target("<=", 1.0),
        ),
        Figure(
            "io_bytes_ratio", "ratio",
            Estimator("bytes moved over those that are needed, of the first round", 1, PASSES,
                      "passes"),
            Target("<=", 1.01),
        ),
        Figure(
            "bits_equal", "0 or 1",
            Estimator("whether all runs give the same bits", 1, ROUNDS + 1, "runs in memory"),
            Target(">=", 1.0),
        ),
        Figure(
            "k1_fraction_worst", "ratio",
            Estimator("least of the rounds", ROUNDS, ITERATIONS_OF_ONE, _BETWEEN_FIO),
            "a shared disk changes its rate within a round; the target is for the median",
        ),
        Figure(
            "kstar_fraction_worst", "ratio",
            Estimator("least of the rounds", ROUNDS, PASSES, _BETWEEN_MEMORY),
            "the target is for the median",
        ),
        Figure("disk_bytes_per_s", "bytes/s", _ROUNDS, _RATE),
        Figure("k1_bytes_per_s", "bytes/s", _ROUNDS, _RATE),
        Figure("memory_cells_per_s", "cells/s", _ROUNDS, _RATE),
        Figure("kstar_cells_per_s", "cells/s", _ROUNDS, _RATE),
    ),
)  # fmt: skip
