# SPDX-License-Identifier: BSD-3-Clause
"""Opt_Scatter: measure every scatter, then take the best for each size (paper 000, section 4).

The paper gives the fragment of code and no figures.  Here the MPI's own scatter
and every algorithm of Lanewise are measured at powers of two; Opt_Scatter then
chooses among them by the size of the call, and runs against all of them at
those sizes and halfway between.  It is as good as its worst size: that figure
has the target.  The same program also runs on the paper's sixteen hosts,
simulated, where times repeat exactly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanewise.errors import RunError
from lanewise.plots import Curve, draw_curves
from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.workspace import SIMULATED, Workspace, rank_count
from lanewise.results.quantity import size_text, time_text

PAPER_RANKS = 16
TURNS = 80
SIMULATED_TURNS = 2

Point = dict[str, Any]


def run(workspace: Workspace) -> Outcome:
    """Run Opt_Scatter on this machine's cores, and on sixteen simulated hosts."""
    ranks = rank_count(PAPER_RANKS)
    here = _points(workspace.ask("lanewise-opt-scatter", ranks, arguments=[str(TURNS)]))
    simulated = _points(
        workspace.ask(
            "lanewise-opt-scatter",
            PAPER_RANKS,
            arguments=[str(SIMULATED_TURNS)],
            fabric=SIMULATED,
        )
    )
    return Outcome(
        figures=figures_of(here, simulated),
        rows=[_row(point) for point in here],
        conditions={
            "ranks": ranks,
            "turns": TURNS,
            "candidates": list(here[0]["candidates_s"]),
            "simulated_ranks": PAPER_RANKS,
        },
        files=_draw(workspace, {f"{ranks} ranks": here, f"{PAPER_RANKS}, simulated": simulated}),
    )


def _points(result: dict[str, Any]) -> list[Point]:
    points: list[Point] = result.get("points", [])
    if not points:
        raise RunError("lanewise-opt-scatter measured nothing")
    return points


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
