# SPDX-License-Identifier: BSD-3-Clause
"""Application scaling: parallel efficiency of LAMMPS with scaled work.

InfiniPath and XD1 (2006), Figure 11, ran LAMMPS on up to 128 nodes.  Here it runs on as many ranks
as there are cores, over every transport of the MPI that it is linked with.  The Lennard-Jones
liquid grows with the number of ranks.  A transport on which a run fails is named, and no part of
its curve counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.workspace import Workspace, failing_as_run, rank_count
from lanewise.errors import RunError
from lanewise.plots.series import Series, draw_series
from lanewise.results.quantity import time_text
from lanewise.suite import application, scale, start, transport

RANKS_MAX = 8
REPETITIONS_MAX, REPETITIONS_QUICK = 8, 3


def run(workspace: Workspace) -> Outcome:
    """Run LAMMPS on 1, 2, 4, ... ranks up to all cores, interleaving the transports."""
    return _run(workspace, REPETITIONS_MAX)


def _run(workspace: Workspace, repetitions_max: int) -> Outcome:
    with failing_as_run():
        plan = application.plan_for(rank_count(RANKS_MAX))
        candidates = [transport.find(name) for name in transport.shipped_names()]
    fitting = [one for one in candidates if not application.lacking(one)]
    if not fitting:
        raise RunError(f"LAMMPS runs on no transport: {application.lacking(candidates[0])}")
    found = [start.find_out(one, max(plan.ranks)) for one in fitting]
    here = [one.transport for one in found if one.starts]
    if not here:
        raise RunError(f"no transport starts: {found[0].why}")
    plan = scale.Plan(
        plan.command, plan.ranks, plan.work, plan.pattern,
        repetitions_max=repetitions_max, limit_s=application.LIMIT_S,
    )  # fmt: skip
    curves = scale.measure(plan, here, lambda *run_: workspace.say(run_text(*run_)))
    points = whole_of(curves, plan.work)
    failed = {one.transport: one.why for one in curves if one.why}
    if not points:
        raise RunError(f"LAMMPS failed: {curves[0].why}")
    return Outcome(
        figures={**figures_of(points), "failed": float(len(failed))},
        rows=[
            Row(
                f"{name}, {one.ranks} ranks", "similar on all" if one.ranks > 1 else "1",
                f"{one.value:.2f} ({time_text(one.median_s)})",
            )
            for name, found in points.items()
            for one in found
        ],
        conditions={
            "ranks": list(plan.ranks), "work": plan.work, "input": "in.lj", "failed": failed,
        },
        files=draw(workspace, points),
        notes=[f"{name} failed: {why}" for name, why in failed.items()],
        curves={
            f"efficiency/{name}": [(one.ranks, one.value) for one in found]
            for name, found in points.items()
        },
    )  # fmt: skip


def whole_of(curves: Sequence[scale.Curve], work: scale.Work) -> dict[str, list[scale.Efficiency]]:
    """Return the efficiencies on the transports on which no run failed.

    What ran on one rank before it failed on two would be as efficient as itself.
    """
    return {one.transport: scale.efficiencies(one.times_s, work) for one in curves if not one.why}


def run_text(name: str, ranks: int, seconds: float) -> str:
    """Return the line of the log for one run."""
    return f"{name}, {ranks} ranks: {seconds:.2f} s"


def figures_of(points: Mapping[str, list[scale.Efficiency]]) -> dict[str, float]:
    """Return the efficiency of each transport at each number of ranks, with its interval."""
    found = {}
    for name, efficiencies in points.items():
        for one in efficiencies:
            key = f"{name}_efficiency_{one.ranks}_ranks"
            found[key] = one.value
            found[f"{key}_low"] = one.low
            found[f"{key}_high"] = one.high
    return found


def draw(workspace: Workspace, points: Mapping[str, list[scale.Efficiency]]) -> list[Path]:
    """Draw efficiency against ranks."""
    series = [
        Series(
            name, [one.ranks for one in found], [one.value for one in found],
            [one.low for one in found], [one.high for one in found],
        )
        for name, found in points.items()
    ]  # fmt: skip
    counts = sorted({float(one.ranks) for found in points.values() for one in found})
    title = "Parallel efficiency, scaled work"
    figure = draw_series([(title, series)], "ranks", lambda value: f"{value:.0f}", ticks=counts)
    return workspace.save(figure, "application-scaling")


EXPERIMENT = Experiment(
    name="application-scaling",
    paper="004 Fig. 11",
    summary="parallel efficiency of LAMMPS with scaled work over every transport",
    run=run,
    quick=Quick(partial(_run, repetitions_max=REPETITIONS_QUICK), takes_s=25.0),
    figures=(
        Figure(
            "failed", "transports",
            Estimator("those that start and on which a run of LAMMPS fails", 1, 1, "try"),
            Target("<=", 0),
        ),
        Figure(
            "{transport}_efficiency_{ranks}_ranks", "ratio",
            Estimator(
                "time of one rank over the median time", REPETITIONS_MAX, 1,
                "run, fewer where time runs out",
            ),
            "the cores of a machine share its memory, so its efficiency is not a matter of the "
            "transports",
        ),
    ),
)  # fmt: skip
