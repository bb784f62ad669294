# SPDX-License-Identifier: BSD-3-Clause
"""Migration under MPI: applications with and without a pulled cable.

Automatic path migration (2007), Figures 9 to 12.  Open MPI over UCX runs protected on two hosts:
the integer sort for half a minute, LAMMPS and the HPC Challenge, each undisturbed and with a cable
out for two seconds; and the sort with MPICH.  Every result is verified.  The paper runs IS, FT and
LU of the NAS benchmarks on 4 x 2 processes and finds 5 to 7 % for FT and LU.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import partial

from experiments.applications import Application, hpcc, integer_sort, lammps
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.migration.mpi_cuts import (
    MPICH,
    PROTECTED,
    SORT_TRIAL,
    Ran,
    Way,
    good,
    launch,
    pull_into,
    scaled,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text

LOG2_KEYS = 21
TRIAL_STEPS = 200
CUT_S = 2.0
LIMIT_S = 150.0


@dataclass(frozen=True)
class Scale:
    """How long applications run, and runs of the sort without (A) and with a cut (B).

    HPCC has no time to be given, but the order of its matrix.
    """

    sort_s: float
    sort_order: str
    lammps_s: float
    hpcc_order: int


WHOLE = Scale(sort_s=30.0, sort_order="ABBA", lammps_s=12.0, hpcc_order=2000)
QUICK = Scale(sort_s=12.0, sort_order="AB", lammps_s=6.0, hpcc_order=1000)


@dataclass
class Pairs:
    """The times of an application without and with a cut, and its last run."""

    whole: list[float] = field(default_factory=list)
    cut: list[float] = field(default_factory=list)
    migrations: int = 0

    @property
    def slowdown_percent(self) -> float:
        """Return by how many percent the median of the runs with a cut is slower."""
        return 100 * (statistics.median(self.cut) / statistics.median(self.whole) - 1)

    @property
    def each_slowdown_percent(self) -> list[float]:
        """Return the same of each run with a cut and its neighbour without."""
        runs = zip(self.cut, self.whole, strict=True)
        return [100 * (cut_s / whole_s - 1) for cut_s, whole_s in runs]


def run(workspace: Workspace) -> Outcome:
    """Run each application in interleaved pairs, and MPICH once with a cut."""
    return _run(workspace, WHOLE)


def _run(workspace: Workspace, scale: Scale) -> Outcome:
    found: dict[str, Pairs] = {}
    sort = partial(integer_sort, "openmpi", LOG2_KEYS)
    sorting = scaled(workspace, sort, SORT_TRIAL, scale.sort_s)
    found["integer_sort"] = interleaved(workspace, PROTECTED, sort(sorting), scale.sort_order)
    notes = []
    if lammps(TRIAL_STEPS).available():
        steps = scaled(workspace, lammps, TRIAL_STEPS, scale.lammps_s)
        found["lammps"] = interleaved(workspace, PROTECTED, lammps(steps), "AB")
    else:
        notes.append("LAMMPS is not installed: apt-get install lammps")
    challenge = hpcc(scale.hpcc_order)
    if challenge.available():
        found["hpcc"] = interleaved(workspace, PROTECTED, challenge, "AB")
    else:
        notes.append("HPCC is not installed: apt-get install hpcc")
    if MPICH.available():
        small = integer_sort("mpich", LOG2_KEYS, sorting // 4)
        found["mpich_integer_sort"] = interleaved(workspace, MPICH, small, "AB")
    return outcome(workspace, found, sorting, notes)


def interleaved(workspace: Workspace, way: Way, what: Application, order: str) -> Pairs:
    """Run without (A) and with a cut (B) in an order; RunError where a result is not right."""
    pairs = Pairs()
    last: Ran | None = None
    for number, kind in enumerate(order, start=1):
        workspace.say(f"{what.name} over {way.name}, {number} of {len(order)}")
        if kind == "A":
            last = launch(workspace, way, what, LIMIT_S)
            pairs.whole.append(good(last, what.name))
            continue
        assert last is not None
        done = launch(workspace, way, what, LIMIT_S, pull_into(last, CUT_S))
        pairs.cut.append(good(done, f"{what.name} with a cut", last))
        pairs.migrations += done.migrations
    if pairs.migrations == 0:
        raise RunError(f"no cut fell into {what.name}")
    return pairs


def outcome(
    workspace: Workspace, found: dict[str, Pairs], iterations: int, notes: list[str]
) -> Outcome:
    """Return figures, rows and the plot."""
    figures: dict[str, float] = {}
    rows = []
    bars = []
    for name, pairs in found.items():
        figures[f"{name}_s"] = statistics.median(pairs.whole)
        figures[f"{name}_cut_s"] = statistics.median(pairs.cut)
        figures[f"{name}_slowdown_percent"] = pairs.slowdown_percent
        said = name.replace("_", " ")
        rows.append(
            Row(
                f"{said}, slower with a cut", "5 to 7 % (FT, LU)",
                f"{pairs.slowdown_percent:.2f} % of {figures[f'{name}_s']:.1f} s",
            )
        )  # fmt: skip
        bars += [Bar(said, figures[f"{name}_s"]), Bar(f"{said}, a cut", figures[f"{name}_cut_s"])]
    figures["slowdown_percent"] = figures["integer_sort_slowdown_percent"]
    figures["migrations"] = float(sum(pairs.migrations for pairs in found.values()))
    figures["verified"] = 1.0  # a run with a wrong result has ended the experiment
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={"ranks": 2, "hosts": 2, "cut_s": CUT_S, "log2_keys": LOG2_KEYS,
                    "iterations": iterations, "applications": sorted(found)},
        files=workspace.save(
            draw_bars([("Applications over MPI, protected", bars)], time_text), "migration-mpi"
        ),
        notes=notes,
        launches={"slowdown_percent": found["integer_sort"].each_slowdown_percent},
    )  # fmt: skip


_SORT = Estimator(
    "median time of the integer sort with a cut over that without",
    len(WHOLE.sort_order) // 2, 1, "pair of runs",
)  # fmt: skip
_RUN = "pair of runs, two of the integer sort"
_OTHERS = "the target is for the integer sort; the paper has 5 to 7 % for FT and LU"

EXPERIMENT = Experiment(
    name="migration-mpi",
    paper="003 Fig. 9-12",
    summary="applications over MPI with a cable pulled in mid-run, their results verified",
    run=run,
    quick=Quick(partial(_run, scale=QUICK), takes_s=150.0),
    figures=(
        Figure("slowdown_percent", "%", _SORT, Target("<=", 2.0)),
        Figure(
            "verified", "0 or 1", Estimator("whether every result was right", 1, 1, _RUN),
            Target(">=", 1.0),
        ),
        Figure(
            "{application}_slowdown_percent", "%",
            Estimator("median time with a cut over that without", 1, 1, _RUN), _OTHERS,
        ),
        Figure(
            "{application}_s", "s", Estimator("median time", 1, 1, _RUN),
            "it depends on the machine",
        ),
        Figure(
            "migrations", "migrations", Estimator("migrations in all runs", 1, 1, _RUN),
            "the experiment fails where no cut falls into an application",
        ),
    ),
)  # fmt: skip
