# SPDX-License-Identifier: BSD-3-Clause
"""Opt_Scatter: measure every scatter, then take the best for each size (paper 000, section 4).

The paper gives the fragment of code and no figures.  Here the MPI's own scatter
and every algorithm of Lanewise are timed at powers of two; Opt_Scatter then
picks among them by the size of the call, and runs against all of them at those
sizes and halfway between.  It is as good as its worst size: that figure has the
target.  In one launch of twenty a contender is some percent off its equals for as
long as it runs, so what is best is asked of several launches, and judged in
several others.  The same program also runs on the paper's sixteen hosts,
simulated, where times repeat exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Experiment, Outcome, Row, Target
from experiments.workspace import SIMULATED, Workspace, rank_count
from lanewise.errors import RunError
from lanewise.plots import Curve, draw_curves
from lanewise.results.quantity import size_text, time_text

PAPER_RANKS = 16
GRID_BYTES = [1 << power for power in range(21)]
BETWEEN_BYTES = [size + size // 2 for size in GRID_BYTES[1:-1]]

Point = dict[str, Any]
Times = NDArray[np.float64]
"""Seconds by turn and contender."""


@dataclass(frozen=True)
class Setting:
    """Where Opt_Scatter is tried, and how often: turns of each launch, launches of each round.

    Without a launcher it is the first that can launch here.
    """

    ranks: int
    launcher: str
    turns: int
    launches: int


@dataclass(frozen=True)
class Measured:
    """The scatters there are, and for each size the times of every launch."""

    candidates: list[str]
    times_by_size: dict[int, list[Times]]


def run(workspace: Workspace) -> Outcome:
    """Run Opt_Scatter on this machine's cores, and on sixteen simulated hosts."""
    here = Setting(ranks=rank_count(PAPER_RANKS), launcher="", turns=24, launches=7)
    simulated = Setting(ranks=PAPER_RANKS, launcher=SIMULATED, turns=6, launches=1)
    points, simulated_points = (_try_out(workspace, setting) for setting in (here, simulated))
    return Outcome(
        figures=figures_of(points, simulated_points),
        rows=[_row(point) for point in points],
        conditions={
            "ranks": here.ranks,
            "turns": here.turns,
            "launches": here.launches,
            "candidates": list(points[0]["candidates_s"]),
            "simulated_ranks": PAPER_RANKS,
            "points": points,
        },
        files=_draw(
            workspace,
            {f"{here.ranks} ranks": points, f"{PAPER_RANKS}, simulated": simulated_points},
        ),
    )


def _try_out(workspace: Workspace, setting: Setting) -> list[Point]:
    """Time all candidates, pick, and time Opt_Scatter among them."""
    timed = _measure(workspace, setting, [str(size) for size in GRID_BYTES])
    pick = picks(timed, sorted(GRID_BYTES + BETWEEN_BYTES))
    judged = _measure(workspace, setting, [f"{size}={name}" for size, name in pick.items()])
    return [point_of(judged, size, name) for size, name in pick.items()]


def _measure(workspace: Workspace, setting: Setting, sizes: Sequence[str]) -> Measured:
    results = [
        workspace.ask(
            "lanewise-opt-scatter",
            setting.ranks,
            arguments=[str(setting.turns), *sizes],
            launcher=setting.launcher,
        )
        for _ in range(setting.launches)
    ]
    measured = Measured(results[0].get("candidates", []), {})
    for result in results:
        for point in result.get("points", []):
            times = np.array(point["rows_s"])
            measured.times_by_size.setdefault(point["message_bytes"], []).append(times)
    if not measured.times_by_size:
        raise RunError("lanewise-opt-scatter measured nothing")
    return measured


def costs(launches: Sequence[Times], candidates: int) -> Times:
    """Return each candidate's time over the mean of all: the median over the turns of all launches.

    A turn of a slow spell, or of a slow launch, weighs no more than another.
    """
    times = np.concatenate(launches)[:, :candidates]
    return np.asarray(np.median(times / times.mean(axis=1, keepdims=True), axis=0))


def picks(timed: Measured, sizes: Sequence[int]) -> dict[int, str]:
    """Return for each of `sizes` the candidate that is nowhere far from the best around it.

    Its worse ratio to the best, at the measured sizes next to that one or at itself, is least.
    """
    ratios = {}
    for size, launches in timed.times_by_size.items():
        cost = costs(launches, len(timed.candidates))
        ratios[size] = cost / cost.min()
    return {size: timed.candidates[_least_bad(ratios, size)] for size in sizes}


def _least_bad(ratios: Mapping[int, Times], size: int) -> int:
    below = max((known for known in ratios if known <= size), default=min(ratios))
    above = min((known for known in ratios if known >= size), default=max(ratios))
    return int(np.maximum(ratios[below], ratios[above]).argmin())


def point_of(judged: Measured, size: int, picked: str) -> Point:
    """Return what came out at one size: Opt_Scatter, whose times are last, against each candidate.

    An interval goes from the launch with the least ratio to the one with the largest.
    """
    launches = judged.times_by_size[size]
    candidates = judged.candidates
    medians_s = np.median(np.concatenate(launches), axis=0)
    best = int(costs(launches, len(candidates)).argmin())
    return {
        "message_bytes": size,
        "picked": picked,
        "opt_s": float(medians_s[-1]),
        "best": candidates[best],
        "candidates_s": dict(zip(candidates, medians_s[:-1].tolist(), strict=True)),
        "to_best": _ratio(launches, -1, best),
        "over_default": _ratio(launches, candidates.index("mpi"), -1),
    }


def _ratio(launches: Sequence[Times], one: int, other: int) -> dict[str, float]:
    """Return the median ratio over all turns, and the least and largest of a launch."""
    by_launch = [times[:, one] / times[:, other] for times in launches]
    medians = [float(np.median(ratios)) for ratios in by_launch]
    center = float(np.median(np.concatenate(by_launch)))
    return {"ratio": center, "low": min(medians), "high": max(medians)}


def figures_of(here: list[Point], simulated: list[Point]) -> dict[str, float]:
    """Return how far Opt_Scatter is from the best at its worst, and its best gain."""
    return {
        "worst_ratio_to_best": _worst(here),
        "best_speedup_over_default": _speedup(here),
        "worst_ratio_to_best_simulated": _worst(simulated),
        "best_speedup_over_default_simulated": _speedup(simulated),
    }


def _worst(points: list[Point]) -> float:
    return max(float(point["to_best"]["ratio"]) for point in points)


def _speedup(points: list[Point]) -> float:
    return max(float(point["over_default"]["ratio"]) for point in points)


def _row(point: Point) -> Row:
    to_best, gain = point["to_best"], point["over_default"]["ratio"]
    ratio = f"{to_best['ratio']:.3f} ({to_best['low']:.3f} to {to_best['high']:.3f})"
    here = f"{time_text(point['opt_s'])}, {ratio} of {point['best']}, default / it {gain:.2f}"
    return Row(size_text(point["message_bytes"]), "", here)


def _draw(workspace: Workspace, runs: dict[str, list[Point]]) -> list[Path]:
    panels = []
    for title, points in runs.items():
        sizes = [float(point["message_bytes"]) for point in points]
        curves = [
            Curve(name, sizes, [float(point["candidates_s"][name]) for point in points])
            for name in points[0]["candidates_s"]
        ]
        own = Curve("Opt_Scatter", sizes, [float(point["opt_s"]) for point in points])
        panels.append((title, [*curves, own]))
    return workspace.save(draw_curves(panels), "opt-scatter")


EXPERIMENT = Experiment(
    name="opt-scatter",
    paper="000 §4",
    summary="a scatter that picks the fastest of all measured, for each size",
    run=run,
    targets=(Target("worst_ratio_to_best", "<=", 1.03),),
)
