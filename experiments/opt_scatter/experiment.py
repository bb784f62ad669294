# SPDX-License-Identifier: BSD-3-Clause
"""Opt_Scatter: measure every scatter, then use the best for each size.

MPIBlib (2008), section 4, gives the code and no figures.  Here the MPI's own scatter and every
algorithm of Lanewise are timed at powers of two; Opt_Scatter then chooses among them by the size of
the call, and runs against all of them at those sizes and halfway between.  The target is for its
worst size.  In some launches a candidate is some percent slower than its equals for as long as the
launch runs (slow-launches has what is known of it), so the choice is made in several launches and
judged in several others.  The same program also runs on the paper's sixteen hosts, simulated, where
times repeat exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.workspace import SIMULATED, Workspace, rank_count
from lanewise.errors import RunError
from lanewise.plots import Curve, draw_curves
from lanewise.results.quantity import size_text, time_text

PAPER_RANKS = 16
LAUNCHES, LAUNCHES_QUICK = 7, 2
ROUNDS, ROUNDS_SIMULATED = 24, 6
GRID_BYTES = [1 << power for power in range(21)]
BETWEEN_BYTES = [size + size // 2 for size in GRID_BYTES[1:-1]]

Point = dict[str, Any]
Times = NDArray[np.float64]
"""Seconds by round and candidate."""


@dataclass(frozen=True)
class Setting:
    """Where Opt_Scatter runs, and how often: rounds per launch, and launches for each purpose.

    With an empty `launcher`, the first that works here is used.
    """

    ranks: int
    launcher: str
    rounds: int
    launches: int


@dataclass(frozen=True)
class Measured:
    """The scatters there are, and for each size the times of every launch."""

    candidates: list[str]
    times_by_size: dict[int, list[Times]]


def run(workspace: Workspace) -> Outcome:
    """Run Opt_Scatter on this machine's cores, and on sixteen simulated hosts."""
    return _run(workspace, LAUNCHES)


def _run(workspace: Workspace, launches: int) -> Outcome:
    here = Setting(ranks=rank_count(PAPER_RANKS), launcher="", rounds=ROUNDS, launches=launches)
    simulated = Setting(ranks=PAPER_RANKS, launcher=SIMULATED, rounds=ROUNDS_SIMULATED, launches=1)
    points, simulated_points = (_try_out(workspace, setting) for setting in (here, simulated))
    return Outcome(
        figures=figures_of(points, simulated_points),
        rows=[_row(point) for point in points],
        conditions={
            "ranks": here.ranks,
            "rounds": here.rounds,
            "launches": here.launches,
            "candidates": list(points[0]["candidates_s"]),
            "simulated_ranks": PAPER_RANKS,
            "points": points,
        },
        files=_draw(
            workspace,
            {f"{here.ranks} ranks": points, f"{PAPER_RANKS}, simulated": simulated_points},
        ),
        launches={"worst_ratio_to_best": worst_by_launch(points)},
        curves={
            "scatter/Opt_Scatter": [(point["message_bytes"], point["opt_s"]) for point in points],
            "scatter/the MPI's own": [
                (point["message_bytes"], point["candidates_s"]["mpi"]) for point in points
            ],
        },
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
            arguments=[str(setting.rounds), *sizes],
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
    """Return each candidate's time over the mean of all, as the median over all rounds.

    A round in a slow phase, or of a slow launch, weighs no more than any other.
    """
    times = np.concatenate(launches)[:, :candidates]
    return np.asarray(np.median(times / times.mean(axis=1, keepdims=True), axis=0))


def picks(timed: Measured, sizes: Sequence[int]) -> dict[int, str]:
    """Return for each of `sizes` the candidate whose worst ratio to the best nearby is least.

    Its worse ratio to the best, at the measured sizes next to that one or at itself, is least.
    """
    ratios = {}
    for size, launches in timed.times_by_size.items():
        cost = costs(launches, len(timed.candidates))
        ratios[size] = cost / np.min(cost)
    return {size: timed.candidates[_least_bad(ratios, size)] for size in sizes}


def _least_bad(ratios: Mapping[int, Times], size: int) -> int:
    below = max((known for known in ratios if known <= size), default=min(ratios))
    above = min((known for known in ratios if known >= size), default=max(ratios))
    return int(np.argmin(np.maximum(ratios[below], ratios[above])))


def point_of(judged: Measured, size: int, picked: str) -> Point:
    """Compare Opt_Scatter, whose times are last, with each candidate at one size.

    An interval goes from the launch with the least ratio to the one with the largest.
    """
    launches = judged.times_by_size[size]
    candidates = judged.candidates
    medians_s = np.median(np.concatenate(launches), axis=0)
    best = int(np.argmin(costs(launches, len(candidates))))
    return {
        "message_bytes": size,
        "picked": picked,
        "opt_s": float(medians_s[-1]),
        "best": candidates[best],
        "candidates_s": dict(zip(candidates, medians_s[:-1].tolist(), strict=True)),
        "to_best": _ratio(launches, -1, best),
        "over_default": _ratio(launches, candidates.index("mpi"), -1),
    }


def _ratio(launches: Sequence[Times], one: int, other: int) -> dict[str, Any]:
    """Return the median ratio over all rounds, that of each launch, and the least and largest."""
    by_launch = [times[:, one] / times[:, other] for times in launches]
    medians = [float(np.median(ratios)) for ratios in by_launch]
    center = float(np.median(np.concatenate(by_launch)))
    return {"ratio": center, "low": min(medians), "high": max(medians), "launches": medians}


def figures_of(here: list[Point], simulated: list[Point]) -> dict[str, float]:
    """Return how far Opt_Scatter is from the best at its worst, and its best gain."""
    return {
        "worst_ratio_to_best": _worst(here),
        "best_speedup_over_default": _speedup(here),
        "worst_ratio_to_best_simulated": _worst(simulated),
        "best_speedup_over_default_simulated": _speedup(simulated),
    }


def worst_by_launch(points: list[Point]) -> list[float]:
    """Return for each launch the ratio at the size where it is farthest from the best."""
    of_sizes = [point["to_best"]["launches"] for point in points]
    return [max(ratios) for ratios in zip(*of_sizes, strict=True)]


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


_RATIO = "largest over sizes of the median ratio over the rounds of all launches"
_EXACT = Estimator(
    "the same in simulated time, which repeats exactly", 1, ROUNDS_SIMULATED, "rounds"
)
_HERE = Estimator(_RATIO, LAUNCHES, ROUNDS, "rounds at each size")
_GAIN = "what there is to gain depends on the MPI's default"

EXPERIMENT = Experiment(
    name="opt-scatter",
    paper="000 §4",
    summary="a scatter that picks the fastest of all measured, for each size",
    run=run,
    quick=Quick(partial(_run, launches=LAUNCHES_QUICK), takes_s=20.0),
    figures=(
        Figure("worst_ratio_to_best", "ratio", _HERE, Target("<=", 1.03)),
        Figure("best_speedup_over_default", "ratio", _HERE, _GAIN),
        Figure(
            "worst_ratio_to_best_simulated", "ratio", _EXACT,
            "candidates repeat exactly there, so the best is always found",
        ),
        Figure("best_speedup_over_default_simulated", "ratio", _EXACT, _GAIN),
    ),
)  # fmt: skip
