# SPDX-License-Identifier: BSD-3-Clause
"""Migration under MPI: applications with and without a pulled cable.

Automatic path migration (2007), Figures 9 to 12.  Open MPI over UCX runs protected on two hosts:
the integer sort for half a minute and for a quarter of it, the Fourier transform, SSOR and LAMMPS,
and the short sort with MPICH as well.  In each round an application runs undisturbed, with a cable
out for two seconds, and with one that stays out; the order changes from round to round.  What
counts is the time of `mpirun` itself, and what the application says of its own time is told beside
it; both are compared within a round.  Every run is judged by its own check, by the status of the
launcher, and by the result of the others; one that is not right has taken for ever.  A round whose
undisturbed run is not right compares nothing.  The paper runs IS, FT and LU of the NAS benchmarks
on 4 x 2 processes and finds 5 to 7 % for FT and LU; the programs here are of our own text and send
as those do.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from experiments.applications import (
    Application,
    fourier_transform,
    integer_sort,
    lammps,
    ssor,
)
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.migration.mpi_cuts import (
    FOR_EVER_S,
    MPICH,
    PROTECTED,
    SORT_TRIAL,
    Pull,
    Ran,
    Way,
    launch,
    pull_into,
    scaled,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.launch.machine import available_memory_bytes, core_count
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import launch_interval
from lanewise.results.quantity import time_text

LOG2_KEYS = 21
LOG2_SIDES = (7, 7, 6)
SIDE = 64
TRANSFORM_TRIAL, SSOR_TRIAL, TRIAL_STEPS = 10, 20, 200
CUT_S = 2.0
LIMIT_S = 150.0
# The paper's processes, where each has a core and memory.
PAPER_RANKS, FEW_RANKS = 8, 2
BYTES_EACH = 1 << 30
WHOLE_RUN, CUT, FOR_EVER = "whole", "cut", "for ever"
KINDS = (WHOLE_RUN, CUT, FOR_EVER)
CUT_LASTS_S = {CUT: CUT_S, FOR_EVER: FOR_EVER_S}
TRIES = 3
SHORTER = 4  # the short sort has so many times fewer iterations


@dataclass(frozen=True)
class Scale:
    """How long the integer sort and the other applications run, and in how many rounds."""

    rounds: int
    sort_s: float
    others_s: float


WHOLE = Scale(rounds=5, sort_s=30.0, others_s=12.0)
QUICK = Scale(rounds=2, sort_s=6.0, others_s=4.0)


@dataclass
class Rounds:
    """The runs of an application, by kind, in the order of the rounds.

    `repeated` counts those that were thrown away because their cut did not fall into the work.
    """

    runs: dict[str, list[Ran]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    repeated: int = 0

    @property
    def all_runs(self) -> list[Ran]:
        """Return the runs of all kinds."""
        return [ran for runs in self.runs.values() for ran in runs]

    @property
    def right(self) -> int:
        """Return how many runs were verified, with the result of the first that was."""
        good = [ran.result for ran in self.all_runs if ran.seconds is not None]
        return sum(result == good[0] for result in good)

    @property
    def migrations(self) -> int:
        """Return how many migrations there were in all runs."""
        return sum(ran.migrations for ran in self.all_runs)

    def seconds(self, kind: str) -> float:
        """Return the median of the application's own times; infinite where most are not right."""
        return statistics.median(_own_s(ran) for ran in self.runs[kind])

    @property
    def slowdown_percent(self) -> float:
        """Return the median over the rounds of how much longer the application takes."""
        return _median(self.each_slowdown_percent)

    @property
    def each_slowdown_percent(self) -> list[float]:
        """Return by how many percent the application's own time with a cut is longer."""
        rounds = zip(self.runs[CUT], self.runs[WHOLE_RUN], strict=True)
        return [100 * (_over(_own_s(cut), _own_s(whole)) - 1) for cut, whole in rounds]

    def launch_ratios(self, kind: str) -> list[float]:
        """Return the time of the launcher over that without a cut, for each round."""
        rounds = zip(self.runs[kind], self.runs[WHOLE_RUN], strict=True)
        return [_over(_launch_s(other), _launch_s(whole)) for other, whole in rounds]


def _own_s(ran: Ran) -> float:
    """Return the time that the application tells; one that is not right has taken for ever."""
    return math.inf if ran.seconds is None else ran.seconds


def _launch_s(ran: Ran) -> float:
    """Return the time of the launcher; a run that is not right has taken for ever."""
    return math.inf if ran.seconds is None else ran.launch_s


def _over(time_s: float, whole_s: float) -> float:
    """Return a ratio of times; infinite where only the first is, NaN where there is no base."""
    return time_s / whole_s if math.isfinite(whole_s) else math.nan


def _median(found: Sequence[float]) -> float:
    """Return the median of what has a base; NaN where nothing has."""
    known = [one for one in found if not math.isnan(one)]
    return statistics.median(known) if known else math.nan


def run(workspace: Workspace) -> Outcome:
    """Run each application in interleaved rounds."""
    return _run(workspace, WHOLE)


def rank_count(cores: int, memory_bytes: float) -> int:
    """Return the paper's number of processes where this machine has room for them, else two."""
    fits = cores >= PAPER_RANKS and memory_bytes >= PAPER_RANKS * BYTES_EACH
    return PAPER_RANKS if fits else FEW_RANKS


def _run(workspace: Workspace, scale: Scale) -> Outcome:
    ranks = rank_count(core_count(), available_memory_bytes())
    found: dict[str, Rounds] = {}
    notes = []
    if ranks < PAPER_RANKS:
        short_of = "cores" if core_count() < PAPER_RANKS else "memory"
        notes.append(f"{ranks} processes and not 4 x 2, for want of {short_of}")
    sort = partial(integer_sort, "openmpi", LOG2_KEYS)
    sorting = scaled(workspace, sort, SORT_TRIAL, scale.sort_s, ranks)
    rounds = partial(interleaved, workspace, rounds=scale.rounds, ranks=ranks)
    found["integer_sort"] = rounds(PROTECTED, sort(sorting))
    found["integer_sort_short"] = rounds(PROTECTED, sort(sorting // SHORTER))
    others: dict[str, tuple[Callable[[int], Application], int]] = {
        "fourier_transform": (partial(fourier_transform, "openmpi", LOG2_SIDES), TRANSFORM_TRIAL),
        "ssor": (partial(ssor, "openmpi", SIDE), SSOR_TRIAL),
        "lammps": (partial(lammps, ranks=ranks), TRIAL_STEPS),
    }
    if not lammps(TRIAL_STEPS).available():
        del others["lammps"]
        notes.append("LAMMPS is not installed: apt-get install lammps")
    for name, (application, trial) in others.items():
        amount = scaled(workspace, application, trial, scale.others_s, ranks)
        found[name] = rounds(PROTECTED, application(amount))
    if MPICH.available():
        small = integer_sort("mpich", LOG2_KEYS, sorting // SHORTER)
        found["mpich_integer_sort"] = rounds(MPICH, small)
    conditions = {"ranks": ranks, "iterations": sorting, "rounds": scale.rounds}
    return outcome(workspace, found, conditions, notes)


def order_of(number: int) -> tuple[str, ...]:
    """Return the kinds of runs in the order of a round: each comes first in turn."""
    turn = number % len(KINDS)
    return KINDS[turn:] + KINDS[:turn]


def interleaved(
    workspace: Workspace, way: Way, what: Application, *, rounds: int, ranks: int
) -> Rounds:
    """Run rounds of all kinds; RunError where cuts do not fall into the application."""
    found = Rounds()
    one_run = partial(launch, workspace, way, what, LIMIT_S, ranks=ranks)
    for number in range(rounds):
        for kind in order_of(number):
            workspace.say(f"{what.name} over {way.name}, round {number + 1} of {rounds}, {kind}")
            if kind == WHOLE_RUN:
                found.runs[kind].append(one_run())
                continue
            uncut = found.runs[WHOLE_RUN]  # the first round begins with one
            usual = next((ran for ran in reversed(uncut) if ran.seconds is not None), uncut[-1])
            made = cut_into(usual, CUT_LASTS_S[kind], one_run, what.name)
            found.runs[kind].append(made[-1])
            found.repeated += len(made) - 1
    return found


def cut_into(usual: Ran, for_s: float, one_run: Callable[[Pull], Ran], name: str) -> list[Ran]:
    """Run with a cut, again where it came before the work or after it; the last run counts."""
    made: list[Ran] = []
    while len(made) < TRIES:
        made.append(one_run(pull_into(usual, for_s)))
        if made[-1].migrations > 0 or made[-1].seconds is None:
            return made
    raise RunError(f"none of {TRIES} cuts fell into {name}; a run of it may be too short")


def wall_figures(name: str, rounds: Rounds) -> dict[str, float]:
    """Return what a cut adds to the time of the launcher, with intervals over the rounds."""
    slower = _ends(f"{name}wall_slowdown_percent", rounds.launch_ratios(CUT))
    stays = _ends(f"{name}cut_for_ever_over_uncut", rounds.launch_ratios(FOR_EVER))
    return {**{key: 100 * (value - 1) for key, value in slower.items()}, **stays}


def _ends(key: str, ratios: Sequence[float]) -> dict[str, float]:
    """Return the mean of ratios and the ends of its interval, which needs all runs to be right.

    It is infinite where a cut was not survived, and NaN where only runs without one went wrong.
    """
    if not all(map(math.isfinite, ratios)):
        return {key: math.inf if math.inf in ratios else math.nan}
    return dict(zip((key, f"{key}_low", f"{key}_high"), launch_interval(ratios), strict=True))


def outcome(
    workspace: Workspace,
    found: dict[str, Rounds],
    conditions: dict[str, int],
    notes: Sequence[str],
) -> Outcome:
    """Return figures, rows and the plot."""
    figures: dict[str, float] = {}
    rows = []
    bars = []
    for name, rounds in found.items():
        figures[f"{name}_s"] = rounds.seconds(WHOLE_RUN)
        figures[f"{name}_cut_s"] = rounds.seconds(CUT)
        figures[f"{name}_slowdown_percent"] = rounds.slowdown_percent
        figures |= wall_figures(f"{name}_", rounds)
        said = {"ssor": "SSOR", "lammps": "LAMMPS"}.get(name, name.replace("_", " "))
        rows.append(_row(f"{said}, slower with a cut", "5 to 7 % (FT, LU)",
                         f"{name}_wall_slowdown_percent", figures, "%"))  # fmt: skip
        rows.append(_row(f"{said}, a cable that stays out", "",
                         f"{name}_cut_for_ever_over_uncut", figures, ""))  # fmt: skip
        bars += [  # one that is not right as well: how long it was there
            Bar(f"{said}, {kind}", statistics.median(ran.launch_s for ran in rounds.runs[kind]))
            for kind in KINDS
        ]
    sort = found["integer_sort"]
    figures["slowdown_percent"] = sort.slowdown_percent
    figures |= wall_figures("", sort)
    figures["migrations"] = float(sum(rounds.migrations for rounds in found.values()))
    runs = sum(len(rounds.all_runs) for rounds in found.values())
    repeated = sum(rounds.repeated for rounds in found.values())
    right = sum(rounds.right for rounds in found.values())
    figures["verified"] = float(right == runs)
    rows.append(Row("results that were right", "all", f"{right} of {runs}"))
    return Outcome(
        # What has no base was not measured, unlike what was lost, which is infinite.
        figures={key: value for key, value in figures.items() if not math.isnan(value)},
        rows=rows,
        conditions={"hosts": 2, "cut_s": CUT_S, "log2_keys": LOG2_KEYS, "runs": runs,
                    "runs_repeated": repeated, "applications": sorted(found), **conditions},
        files=workspace.save(
            draw_bars([("Time of mpirun, protected", bars)], time_text), "migration-mpi"
        ),
        notes=[*notes, *_not_right(found)],
        launches={
            "slowdown_percent": sort.each_slowdown_percent,
            "wall_slowdown_percent": [100 * (one - 1) for one in sort.launch_ratios(CUT)],
            "cut_for_ever_over_uncut": sort.launch_ratios(FOR_EVER),
        },
    )  # fmt: skip


def _row(what: str, paper: str, key: str, figures: dict[str, float], unit: str) -> Row:
    if f"{key}_low" not in figures:
        return Row(what, paper, "no time: a run was not right")
    low, value, high = (f"{figures[key + end]:.3g}" for end in ("_low", "", "_high"))
    return Row(what, paper, f"{value} ({low} to {high}) {unit}".strip())


def _not_right(found: Mapping[str, Rounds]) -> Iterator[str]:
    """Say of each application and kind what the last of its runs that were not right said."""
    for name, rounds in found.items():
        for kind, runs in rounds.runs.items():
            wrong = [ran.last_words for ran in runs if ran.seconds is None]
            if wrong:
                yield f"{name}, {kind}: {len(wrong)} of {len(runs)} were not right: {wrong[-1]}"


_ROUND = "pair of runs"
_SORT = Estimator(
    "median over the rounds of the time that the integer sort tells with a cut over that without",
    WHOLE.rounds,
    1,
    _ROUND,
)
_WALL = Estimator(
    "geometric mean over the rounds of the time of mpirun with a cut over that without, with "
    "Student's interval", WHOLE.rounds, 1, _ROUND,
)  # fmt: skip
_EACH = Estimator(
    "the same for each application, over the rounds", 1, WHOLE.rounds, "pairs of runs"
)
_RUN = "runs of each application"
_OTHERS = "the target is for the integer sort; the paper has 5 to 7 % for FT and LU"

EXPERIMENT = Experiment(
    name="migration-mpi",
    paper="003 Fig. 9-12",
    summary="applications over MPI with a cable pulled in mid-run, their results verified",
    run=run,
    quick=Quick(partial(_run, scale=QUICK), takes_s=460.0),
    figures=(
        Figure("slowdown_percent", "%", _SORT, Target("<=", 2.0)),
        Figure("wall_slowdown_percent", "%", _WALL, Target("<=", 2.0)),
        Figure("cut_for_ever_over_uncut", "ratio", _WALL, Target("<=", 1.05)),
        Figure(
            "verified", "0 or 1",
            Estimator("whether every result was right", 1, 3 * WHOLE.rounds, _RUN),
            Target(">=", 1.0),
        ),
        Figure(
            "{application}_slowdown_percent", "%",
            Estimator("median over the rounds of the time that the application tells with a cut "
                      "over that without", 1, WHOLE.rounds, "pairs of runs"),
            _OTHERS,
        ),
        Figure("{application}_wall_slowdown_percent", "%", _EACH, _OTHERS),
        Figure(
            "{application}_cut_for_ever_over_uncut", "ratio", _EACH,
            "the target is for the integer sort",
        ),
        Figure(
            "{application}_s", "s", Estimator("median time", 1, WHOLE.rounds, "runs"),
            "it depends on the machine",
        ),
        Figure(
            "migrations", "migrations",
            Estimator("migrations in all runs", 1, 3 * WHOLE.rounds, _RUN),
            "the experiment fails where no cut falls into an application",
        ),
    ),
)  # fmt: skip
