# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront limits: how close a sweep over the disk comes to the disk and to memory.

Beyond out-of-core wavefront (2008), section 6.  With one wave per pass a sweep can be no faster
than the disk, which fio measures besides; with enough waves it can be no faster than the same
kernel on the same threads in memory.  The rate of a shared disk fluctuates by a factor of two
within minutes, so each run stands between two measurements of its yardstick and is compared with
their mean; the median of the rounds counts.
"""

from __future__ import annotations

import itertools
import math
import statistics
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.wavefront import sweeps
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import percent_text, rate_text, three_digits

SIDE = 4096
WAVES_FIRST, WAVES_MIN, WAVES_MAX = 64, 32, 128
OVER_BREAK_EVEN = 2  # as the plan does: the disk may slow down without harm
PASSES = 2
ROUNDS = 5
FIO_S = 2
MEMORY = "768MiB"


def run(workspace: Workspace) -> Outcome:
    """Measure disk, one wave, memory and many waves, interleaved; count bytes; compare bits."""
    disk, one, memory, many = [], [], [], []
    with sweeps.store(workspace, SIDE) as store:
        workspace.say("how many waves hide this disk")
        first_disk = sweeps.disk_rate(workspace.folder, FIO_S)
        first_memory = sweeps.rates_in_memory(SIDE, WAVES_FIRST)["simd_chained_cells_per_s"]
        waves = waves_for(first_disk, first_memory)
        for number in range(ROUNDS):
            workspace.say(f"round {number + 1} of {ROUNDS}: disk, one wave, memory, {waves} waves")
            if number == 0:
                disk.append(sweeps.disk_rate(workspace.folder, FIO_S))
                memory.append(sweeps.rates_in_memory(SIDE, waves))
            one.append(sweeps.iterate(store, 4, "--waves", "1", "--memory", MEMORY))
            disk.append(sweeps.disk_rate(workspace.folder, FIO_S))
            options = ("--waves", str(waves), "--memory", MEMORY)
            many.append(sweeps.iterate(store, PASSES * waves, *options))
            memory.append(sweeps.rates_in_memory(SIDE, waves))
    bits = _same_bits(workspace)
    figures = figures_of(disk, one, memory, many)
    figures["bits_equal"] = float(bits and all(found["bits_equal"] for found in memory))
    return Outcome(
        figures=figures,
        rows=_rows(figures, waves),
        conditions={"rows": SIDE, "columns": SIDE, "waves": waves, "threads": many[0]["threads"],
                    "memory": MEMORY, "simd": many[0]["simd"], "io": many[0]["io"]},
        files=workspace.save(
            draw_bars([("Share of the limit", _bars(figures, waves))], percent_text, target=0.85),
            "wavefront-limits",
        ),
        launches=figures_by_round(disk, one, memory, many),
    )  # fmt: skip


def waves_for(disk_bytes_per_s: float, cells_per_s: float) -> int:
    """Return twice K* = F 56 / (rate of the disk), in whole groups of 16 waves."""
    break_even = cells_per_s * sweeps.BYTES_PER_CELL / disk_bytes_per_s
    whole = 16 * math.ceil(OVER_BREAK_EVEN * break_even / 16)
    return min(max(whole, WAVES_MIN), WAVES_MAX)


def figures_of(
    disk: list[float],
    one: list[dict[str, Any]],
    memory: list[dict[str, Any]],
    many: list[dict[str, Any]],
) -> dict[str, float]:
    """Return the figures from the ends of the runs, each between two of its yardsticks."""
    moved = [(end["read_bytes"] + end["written_bytes"]) / end["elapsed_s"] for end in one]
    # The pipeline fills and drains within the elapsed time: it counts against the sweep.
    reached = [end["cells_per_s"] for end in many]
    in_memory = [found["simd_chained_cells_per_s"] for found in memory]
    by_round = figures_by_round(disk, one, memory, many)
    expected = sweeps.BYTES_PER_CELL * SIDE * SIDE * many[0]["iterations"] / many[0]["waves"]
    return {
        **{key: statistics.median(values) for key, values in by_round.items()},
        "k1_fraction_worst": min(by_round["k1_fraction_of_disk"]),
        "kstar_fraction_worst": min(by_round["kstar_fraction_of_memory"]),
        "io_bytes_ratio": (many[0]["read_bytes"] + many[0]["written_bytes"]) / expected,
        "disk_bytes_per_s": statistics.median(disk),
        "k1_bytes_per_s": statistics.median(moved),
        "memory_cells_per_s": statistics.median(in_memory),
        "kstar_cells_per_s": statistics.median(reached),
    }


def figures_by_round(
    disk: list[float],
    one: list[dict[str, Any]],
    memory: list[dict[str, Any]],
    many: list[dict[str, Any]],
) -> dict[str, list[float]]:
    """Return the shares of each round, and the speedup of each run in memory."""
    moved = [(end["read_bytes"] + end["written_bytes"]) / end["elapsed_s"] for end in one]
    in_memory = [found["simd_chained_cells_per_s"] for found in memory]
    return {
        "k1_fraction_of_disk": shares(moved, disk),
        "kstar_fraction_of_memory": shares([end["cells_per_s"] for end in many], in_memory),
        "simd_speedup": [found["simd_speedup"] for found in memory],
    }


def shares(rates: list[float], yardsticks: list[float]) -> list[float]:
    """Return each rate over the mean of the yardsticks before and after it."""
    around = itertools.pairwise(yardsticks)
    return [2 * rate / sum(pair) for rate, pair in zip(rates, around, strict=True)]


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
        Row("share of the disk", "", percent_text(figures["k1_fraction_of_disk"])),
        Row("kernel in memory, Mcells/s", "", f"{figures['memory_cells_per_s'] / million:.0f}"),
        Row(f"{waves} waves a pass, Mcells/s", "", f"{figures['kstar_cells_per_s'] / million:.0f}"),
        Row("share of memory", "", percent_text(figures["kstar_fraction_of_memory"])),
        Row("SIMD and threads over the naive loop", "", three_digits(figures["simd_speedup"])),
        Row("bytes moved over 56 N M / K", "", f"{figures['io_bytes_ratio']:.4f}"),
        Row("same bits", "", "yes" if figures["bits_equal"] else "no"),
    ]


def _bars(figures: dict[str, float], waves: int) -> list[Bar]:
    return [
        Bar("one wave, of the disk", figures["k1_fraction_of_disk"]),
        Bar(f"{waves} waves, of memory", figures["kstar_fraction_of_memory"]),
    ]


_OF = "median over rounds of a run over the mean of its yardstick before and after it"
_DISK = Estimator(_OF, ROUNDS, 4, "iterations between two runs of fio")
_MEMORY = Estimator(_OF, ROUNDS, PASSES, "passes between two runs in memory")
_ROUNDS = Estimator("median of the rounds", ROUNDS, 1, "run")
_RATE = "it depends on the disk and the processor; what is judged is the share of the limit"

EXPERIMENT = Experiment(
    name="wavefront-limits",
    paper="002 §6",
    summary="a sweep over the disk against the disk itself and against memory",
    run=run,
    figures=(
        Figure("k1_fraction_of_disk", "ratio", _DISK, Target(">=", 0.9)),
        Figure("kstar_fraction_of_memory", "ratio", _MEMORY, Target(">=", 0.85)),
        Figure(
            "simd_speedup", "ratio",
            Estimator("median over runs in memory of the rate over that of the naive loop",
                      ROUNDS + 1, 1, "run"),
            Target(">=", 4.0),
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
            Estimator("least of the rounds", ROUNDS, 4, "iterations between two runs of fio"),
            "a shared disk changes its rate within a round; the target is for the median",
        ),
        Figure(
            "kstar_fraction_worst", "ratio",
            Estimator("least of the rounds", ROUNDS, PASSES, "passes between two runs in memory"),
            "the target is for the median",
        ),
        Figure("disk_bytes_per_s", "bytes/s", _ROUNDS, _RATE),
        Figure("k1_bytes_per_s", "bytes/s", _ROUNDS, _RATE),
        Figure("memory_cells_per_s", "cells/s", _ROUNDS, _RATE),
        Figure("kstar_cells_per_s", "cells/s", _ROUNDS, _RATE),
    ),
)  # fmt: skip
