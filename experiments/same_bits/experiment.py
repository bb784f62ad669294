# SPDX-License-Identifier: BSD-3-Clause
"""Same bits: reductions under `lanewise run --same-bits`, and what they cost.

One program adds numbers of wild exponents by MPI_SUM at many sizes, in parts, by several
collectives and algorithms, on several numbers of ranks, with two MPIs (sums.py).  What should be
equal is compared bit by bit, and the exact results with fractions.  Another program times its
MPI_Allreduce with the same bits beside what tuning chooses freely (cost.py).  Last, a gas runs on
several numbers of ranks, with its energies added in the usual way and exactly (gas.py).
"""

from __future__ import annotations

from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.same_bits import cost, gas, sums
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import launch_interval
from lanewise.results.quantity import three_digits


def run(workspace: Workspace) -> Outcome:
    """Compare the bits of all ways to add, and time them."""
    found = sums.run_all(workspace)
    costs = cost.costs(workspace)
    moved = gas.energies(workspace)
    figures = sums.figures(found) | energy_figures(moved)
    for key, values in costs.ratios.items():
        figures[key], figures[f"{key}_low"], figures[f"{key}_high"] = launch_interval(values)
    return Outcome(
        figures=figures,
        rows=[Row(key, "", three_digits(value)) for key, value in figures.items()],
        conditions={
            "ranks": sums.RANKS, "timed_ranks": tuple(cost.TIMED), "mpis": sums.MPIS,
            "choices": costs.choices,
        },
        files=[*_draw(workspace, figures), *workspace.save(gas.draw(moved), "same-bits-energies")],
        launches=costs.ratios,
    )  # fmt: skip


def energy_figures(moved: dict[bool, dict[int, gas.Energies]]) -> dict[str, float]:
    """Return whether the exact energies are the same, and how far apart the others are at most."""
    first = gas.RANKS[0]
    apart = [moved[False][ranks].apart(moved[False][first]) for ranks in gas.RANKS[1:]]
    return {
        "energies_equal": float(len(set(moved[True].values())) == 1),
        "plain_energies_apart": max(map(max, apart)),
    }


def _draw(workspace: Workspace, figures: dict[str, float]) -> list[Path]:
    panels = [
        (
            f"Allreduce of {size}, {ranks} ranks",
            [
                Bar("the tuned free choice", 1.0, "free"),
                _bar("in one order", figures, cost.figure("order", size, ranks)),
                _bar("exact", figures, cost.figure("ranks", size, ranks)),
            ],
        )
        for ranks in cost.TIMED
        for size in cost.SIZES
    ]
    return workspace.save(draw_bars(panels, three_digits), "same-bits")


def _bar(name: str, figures: dict[str, float], key: str) -> Bar:
    return Bar(
        name, figures[key], "same bits", low=figures[f"{key}_low"], high=figures[f"{key}_high"]
    )


_EQUAL = Estimator(
    "1 where all bits are equal", 1, len(sums.MPIS) * sum(map(len, sums.RANKS.values())), "runs"
)
_COST = Estimator(
    "geometric mean over turns of launches of the median time over that of the tuned free choice",
    cost.LAUNCHES, cost.ROUNDS, "rounds",
)  # fmt: skip

_ENERGIES = Estimator(
    "over all steps that were printed, on each number of ranks", 1, len(gas.RANKS) * gas.STEPS,
    "steps",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="same-bits",
    paper="000 §4, beyond",
    summary="bits of sums over sizes, splits, algorithms, MPIs and ranks, and what they cost",
    run=run,
    figures=(
        *(
            Figure(f"{what}_equal", "0 or 1", _EQUAL, Target(">=", 1.0))
            for what in ("sizes", "splits", "algorithms", "mpis", "ranks")
        ),
        Figure(
            "exact_error_ulp_max", "ulp",
            Estimator("largest distance from the result of fractions", 1, 3 * 960, "results"),
            Target("<=", 0.5),
        ),
        Figure("energies_equal", "0 or 1", _ENERGIES, Target(">=", 1.0)),
        Figure(
            "plain_energies_apart", "ratio", _ENERGIES,
            "it says what energies added as usual come to, which has no best value",
        ),
        *(
            Figure(cost.figure(level, size, ranks), "ratio", _COST, judged)
            for ranks in cost.TIMED
            for level, size, judged in (
                ("order", "64KiB", Target("<=", 1.1)),
                ("order", "4MiB", Target("<=", 1.1)),
                ("ranks", "4MiB", Target("<=", 2.5)),
                (
                    "ranks", "64KiB",
                    "the target is for messages whose time is that of their bytes",
                ),
            )
        ),
    ),
)  # fmt: skip
