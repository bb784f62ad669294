# SPDX-License-Identifier: BSD-3-Clause
"""Parallel pairs: all round trips at once where they share nothing (paper 000, section 5).

On a switched cluster pairs that have no rank in common do not disturb each
other, so the paper's 100 repetitions of 4 KB took 0.5 s instead of 3.5 s.  Here
eight ranks run on a simulated switch, where time is exact and the medians of
both orders can be compared pair by pair.  With rounds of disjoint pairs the
28 pairs of eight ranks take seven rounds, so no speedup can pass four.
"""

from __future__ import annotations

from pathlib import Path

from lanewise.errors import RunError
from lanewise.plots import Strip, draw_strips
from lanewise.plots.quantity import three_digits, time_text, time_tick
from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.workspace import SIMULATED, Workspace
from lanewise.results.read import Samples

RANKS = 8
PAPER_SEQUENTIAL_S = 3.5
PAPER_PARALLEL_S = 0.5
ORDERS = ("sequential", "parallel")


def run(workspace: Workspace) -> Outcome:
    """Measure all pairs in both orders on a simulated switch."""
    sequential, parallel = (
        workspace.measure(
            f"pairs-{order}",
            ["pairs", "--order", order, "--sizes", "4K", "--repetitions", "100"],
            RANKS,
            fabric=SIMULATED,
        )
        for order in ORDERS
    )
    figures = {
        "speedup": _elapsed_s(sequential) / _elapsed_s(parallel),
        "median_deviation_percent": deviation_percent(sequential, parallel),
    }
    return Outcome(
        figures=figures,
        rows=_rows(sequential, parallel, figures),
        conditions={
            "ranks": RANKS,
            "pairs": len(sequential.points),
            "mpi": sequential.context.mpi.get("library", ""),
            "time": "simulated",
        },
        files=_draw(workspace, sequential, parallel),
    )


def _elapsed_s(samples: Samples) -> float:
    if samples.end is None or samples.end.elapsed_s <= 0:
        raise RunError(f"{samples.path} does not say how long the run took")
    return samples.end.elapsed_s


def deviation_percent(sequential: Samples, parallel: Samples) -> float:
    """Return the largest difference between the two medians of a pair, percent of sequential."""
    before = {(p.root, p.peer): p.median_s for p in sequential.points}
    after = {(p.root, p.peer): p.median_s for p in parallel.points}
    if not before or before.keys() != after.keys():
        raise RunError("the two orders did not measure the same pairs")
    return 100 * max(abs(after[pair] - before[pair]) / before[pair] for pair in before)


def _rows(sequential: Samples, parallel: Samples, figures: dict[str, float]) -> list[Row]:
    paper = three_digits(PAPER_SEQUENTIAL_S / PAPER_PARALLEL_S)
    deviation = f"{figures['median_deviation_percent']:.2g} %"
    return [
        Row("sequential", time_text(PAPER_SEQUENTIAL_S), time_text(_elapsed_s(sequential))),
        Row("parallel", time_text(PAPER_PARALLEL_S), time_text(_elapsed_s(parallel))),
        Row("speedup", paper, three_digits(figures["speedup"])),
        Row("medians of a pair differ by at most", "same accuracy", deviation),
    ]


def _draw(workspace: Workspace, sequential: Samples, parallel: Samples) -> list[Path]:
    strips = [
        Strip(
            f"{order}, took {time_text(_elapsed_s(samples))}",
            [point.median_s for point in samples.points],
        )
        for order, samples in zip(ORDERS, (sequential, parallel), strict=True)
    ]
    title = f"Round trips of 4 KiB, {len(sequential.points)} pairs"
    return workspace.save(draw_strips(title, strips, time_tick), "parallel-pairs")


EXPERIMENT = Experiment(
    name="parallel-pairs",
    paper="000 §5",
    summary="all pairs in rounds of disjoint pairs against one after another",
    run=run,
    targets=(Target("speedup", ">=", 3.5), Target("median_deviation_percent", "<=", 5.0)),
)
