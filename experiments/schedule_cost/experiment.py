# SPDX-License-Identifier: BSD-3-Clause
"""Schedule cost: executing a schedule against the same algorithm written out in the MPI.

A schedule is useful only if its execution costs nothing measurable.  Open MPI is forced to use one
algorithm for a collective, Lanewise executes its schedule of the same algorithm, and batches of
both alternate on two ranks.  Isolated executions each follow a barrier; pipelined ones follow each
other.  Now and then a launch is slower than the others for as long as it runs (slow-launches has
what is known of it), so there are several launches, and each comparison counts with its median
ratio.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target, constant
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text, time_text

RANKS = 2
LAUNCHES = 7
SMALL_BYTES = 8
MODES = ("isolated", "pipelined")

Point = dict[str, Any]


def run(workspace: Workspace) -> Outcome:
    """Compare both on two ranks, from 8 B to 64 KiB."""
    results = [workspace.ask("lanewise-schedule-cost", RANKS) for _ in range(LAUNCHES)]
    launches = [points_of(result) for result in results]
    points = median_points(launches)
    if not points:
        raise RunError("lanewise-schedule-cost compared nothing; this MPI is not Open MPI")
    return Outcome(
        figures=figures_of(points),
        rows=[_row(name, point, mode) for name, point in points for mode in MODES],
        conditions={"ranks": RANKS, "launches": [result["collectives"] for result in results]},
        files=_draw(workspace, points),
        launches=figures_by_launch(launches),
    )


def points_of(result: dict[str, Any]) -> list[tuple[str, Point]]:
    """Return (collective and algorithm, point) of each comparison."""
    return [
        (f"{collective} {entry['algorithm']}", point)
        for collective, entry in result["collectives"].items()
        for point in entry["points"]
    ]


def median_points(launches: list[list[tuple[str, Point]]]) -> list[tuple[str, Point]]:
    """Return each point with, for either mode, the comparison of the launch with the median ratio.

    All launches have the same points in the same order; their number is odd.
    """
    merged = []
    for same in zip(*launches, strict=True):
        name, first = same[0]
        modes = {mode: _median_by_ratio([point[mode] for _, point in same]) for mode in MODES}
        merged.append((name, {**first, **modes}))
    return merged


def _median_by_ratio(comparisons: list[dict[str, float]]) -> dict[str, float]:
    return sorted(comparisons, key=lambda one: one["ratio"])[len(comparisons) // 2]


def figures_of(points: list[tuple[str, Point]]) -> dict[str, float]:
    """Return the worst ratio over the collectives at 8 B, and over all sizes."""
    small = [point for _, point in points if point["message_bytes"] == SMALL_BYTES]
    return {
        "ratio_8B": max(float(point["isolated"]["ratio"]) for point in small),
        "ratio_8B_pipelined": max(float(point["pipelined"]["ratio"]) for point in small),
        "ratio_worst": max(float(point["isolated"]["ratio"]) for _, point in points),
        "ratio_best": min(float(point["isolated"]["ratio"]) for _, point in points),
    }


def figures_by_launch(launches: list[list[tuple[str, Point]]]) -> dict[str, list[float]]:
    """Return the same figures as each launch gives them by itself."""
    each = [figures_of(points) for points in launches]
    return {key: [figures[key] for figures in each] for key in each[0]}


def _row(name: str, point: Point, mode: str) -> Row:
    one = point[mode]
    interval = f"{one['ratio_low']:.3f} to {one['ratio_high']:.3f}"
    own = time_text(one["mpi_s"])
    here = f"{time_text(one['ours_s'])} against {own}, {one['ratio']:.3f} ({interval})"
    return Row(f"{name}, {size_text(point['message_bytes'])}, {mode}", "", here)


def _draw(workspace: Workspace, points: list[tuple[str, Point]]) -> list[Path]:
    panels = [
        (
            f"{name}, {size_text(point['message_bytes'])}",
            [
                Bar("Open MPI's own", float(point["isolated"]["mpi_s"]), "mpi"),
                Bar("schedule", float(point["isolated"]["ours_s"]), "ours"),
            ],
        )
        for name, point in points
        if point["message_bytes"] == SMALL_BYTES
    ]
    return workspace.save(draw_bars(panels, time_text), "schedule-cost")


_ROUNDS = constant(Path(__file__).with_name("schedule_cost.cpp"), "rounds")
_MEDIAN = "median over launches of the median ratio of a launch"
_WORST = Estimator(f"{_MEDIAN}, for the worst collective", LAUNCHES, _ROUNDS, "rounds")
_ALL = Estimator(f"{_MEDIAN}, over collectives and sizes", LAUNCHES, _ROUNDS, "rounds")
_SMALL = "the target is for isolated messages of 8 bytes, where the cost of a schedule would show"

EXPERIMENT = Experiment(
    name="schedule-cost",
    paper="000 §4, beyond",
    summary="an executed schedule against the MPI's own same algorithm",
    run=run,
    figures=(
        Figure("ratio_8B", "ratio", _WORST, Target("<=", 1.05)),
        Figure("ratio_8B_pipelined", "ratio", _WORST, _SMALL),
        Figure("ratio_worst", "ratio", _ALL, _SMALL),
        Figure("ratio_best", "ratio", _ALL, _SMALL),
    ),
)
