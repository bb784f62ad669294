# SPDX-License-Identifier: BSD-3-Clause
"""Same bits: reductions under `lanewise run --same-bits`, and what they cost.

One program adds numbers of wild exponents by MPI_SUM: at once, in parts, at several sizes, by
several collectives, on two numbers of ranks, with two MPIs.  What should be equal is compared bit
by bit, and the exact sums with sums of fractions.  Then the program's own MPI_Allreduce is timed in
turns with what tuning chooses among all algorithms, the MPI's own ones included: on two ranks,
where an exact sum is one addition, and on four, where it is not.  Last, a gas runs on several
numbers of ranks, with its energies added in the usual way and exactly.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.native import compiled_with_lanewise
from experiments.same_bits import gas
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.choose import choose, require_launcher
from lanewise.launch.job import Job
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import launch_interval
from lanewise.results.quantity import three_digits
from lanewise.tuning.read import load

HERE = Path(__file__).parent
MPIS = (LOCAL, "mpich")
CELLS = 12
RANKS = (6, 12)
# Numbers of ranks that are timed, with what the names of their figures have besides.  The program
# deals its cells among ranks that divide their number.
TIMED = {2: "", 4: "_4_ranks"}
LAUNCHES = 5
ROUNDS = 60
SIZES = {"64KiB": 1 << 16, "4MiB": 1 << 22}
TIMEOUT_S = 300.0
BUDGET = "30s"


def run(workspace: Workspace) -> Outcome:
    """Compare the bits of all ways to add, and time them."""
    folder = workspace.folder.resolve()
    with failing_as_run():
        programs = {
            mpi: compiled_with_lanewise(mpi, HERE / "sums.c", folder / f"sums-{mpi}")
            for mpi in MPIS
        }
    found = {}
    for level in ("order", "ranks"):
        for mpi in MPIS:
            for ranks in RANKS:
                workspace.say(f"{level}, {mpi}, {ranks} ranks")
                found[level, mpi, ranks] = added(programs[mpi], mpi, ranks, level)
    ratio: dict[str, list[float]] = {}
    for ranks in TIMED:
        ratio |= costs(workspace, programs[LOCAL], ranks)
    moved = gas.energies(workspace)
    figures = equalities(found)
    figures |= energy_figures(moved)
    for key, values in ratio.items():
        figures[key], figures[f"{key}_low"], figures[f"{key}_high"] = launch_interval(values)
    return Outcome(
        figures=figures,
        rows=[Row(key, "", three_digits(value)) for key, value in figures.items()],
        conditions={"ranks": RANKS, "timed_ranks": tuple(TIMED), "mpis": MPIS},
        files=[*_draw(workspace, figures), *workspace.save(gas.draw(moved), "same-bits-energies")],
        launches=ratio,
    )


def costs(workspace: Workspace, program: Path, ranks: int) -> dict[str, list[float]]:
    """Return the ratios of the launches on a number of ranks, by figure."""
    ordered = tuned(workspace, "ordered", ranks, "--same-bits", "order")
    free = tuned(workspace, "free", ranks)
    choices = tuple(free_choice(free, size_bytes) for size_bytes in SIZES.values())
    comparison = Comparison(program, ranks, ordered, choices)
    ratio = {}
    for level in ("order", "ranks"):
        launches = timed(workspace, comparison, level)
        for size in SIZES:
            ratio[cost_figure(level, size, ranks)] = [one[size] for one in launches]
    return ratio


def cost_figure(level: str, size: str, ranks: int) -> str:
    """Return the name of a figure: that on two ranks is the oldest, and names no number."""
    return f"{level}_cost_{size}{TIMED[ranks]}"


def tuned(workspace: Workspace, name: str, ranks: int, *options: str) -> Path:
    """Tune allreduce at the sizes that are timed, and return the tuning file."""
    path = workspace.fresh(f"{name}-{ranks}.json")
    workspace.say(f"tuning, {name}, {ranks} ranks")
    words = ["allreduce", "-n", str(ranks), "--budget", BUDGET, "-o", str(path), *options]
    sizes = ",".join(map(str, SIZES.values()))
    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "tune", *words, "--sizes", sizes, "--quiet"],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError("allreduce could not be tuned", done.stderr.splitlines()[-5:])
    return path


def free_choice(path: Path, size_bytes: int) -> str:
    """Return a size with the algorithm that a tuning file names for it, if it names one."""
    rules = load(path).collectives["allreduce"].rules
    for rule in rules:
        if rule.from_bytes <= size_bytes <= rule.to_bytes:
            return f"{size_bytes}:{rule.algorithm}:{rule.segment_bytes}"
    return str(size_bytes)


def added(
    program: Path, mpi: str, ranks: int, level: str, timed: Sequence[str] = (), *options: str
) -> dict[str, Any]:
    """Run the program under a level and return what it printed."""
    with failing_as_run():
        choice = choose(mpi, os.environ)
        require_launcher(choice)
    words = [str(program), str(CELLS), str(ROUNDS), *timed]
    job = Job(
        program=tuple(words), ranks=ranks, executable=choice.executable, mpi=mpi, slots=1, cores=1,
        user_id=os.getuid(),
    )  # fmt: skip
    line = [sys.executable, "-m", "lanewise", "run", "--same-bits", level, *options, "--"]
    done = subprocess.run(
        [*line, *choice.launcher.command(job)], capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S, env={**os.environ, **choice.launcher.environment(job)},
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"sums on {ranks} ranks failed", done.stderr.splitlines()[-5:])
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@dataclass(frozen=True)
class Comparison:
    """A program that is timed on a number of ranks beside what tuning chooses freely.

    In one order, it takes what tuning chooses among the algorithms that have it.
    """

    program: Path
    ranks: int
    ordered: Path
    choices: tuple[str, ...]


def timed(workspace: Workspace, comparison: Comparison, level: str) -> list[dict[str, float]]:
    """Return, for each launch, the ratio of the median times by size."""
    ranks, choices = comparison.ranks, comparison.choices
    options = ("--tuning", str(comparison.ordered))
    workspace.say(f"{ranks} ranks, beside {', '.join(choices)}")
    ratios = []
    for launch in range(1, LAUNCHES + 1):
        workspace.say(f"{level}, launch {launch} of {LAUNCHES}")
        printed = added(comparison.program, LOCAL, ranks, level, choices, *options)
        medians = {}
        for size_bytes, rows in printed["times"][1:]:
            through_s, past_s = (statistics.median(column) for column in zip(*rows, strict=True))
            medians[size_bytes] = through_s / past_s
        ratios.append({name: medians[size_bytes] for name, size_bytes in SIZES.items()})
    return ratios


def equalities(found: dict[tuple[str, str, int], dict[str, Any]]) -> dict[str, float]:
    """Return 1 for what was the same in all runs, and the largest error of the exact sums."""
    runs = found.values()
    parts = [(one["whole"], one["reduce"], one["reduce_scatter"]) for one in runs]
    exact = [float.fromhex(text) for text in found["ranks", LOCAL, RANKS[0]]["whole"]]
    return {
        "sizes_equal": float(all(one["sizes"] == one["whole"] for one in runs)),
        "splits_equal": float(all(one["splits"] == one["whole"] for one in runs)),
        "algorithms_equal": float(
            all(
                whole == reduced and whole[: len(scattered)] == scattered
                for whole, reduced, scattered in parts
            )
        ),
        "mpis_equal": float(
            all(
                found[level, MPIS[0], ranks] == found[level, MPIS[1], ranks]
                for level in ("order", "ranks")
                for ranks in RANKS
            )
        ),
        "ranks_equal": float(
            len({tuple(found["ranks", mpi, ranks]["whole"]) for mpi in MPIS for ranks in RANKS})
            == 1
        ),
        "exact_error_ulp_max": max(error_ulp(value, at) for at, value in enumerate(exact)),
    }


def energy_figures(moved: dict[bool, dict[int, gas.Energies]]) -> dict[str, float]:
    """Return whether the exact energies are the same, and how far apart the others are at most."""
    first = gas.RANKS[0]
    apart = [moved[False][ranks].apart(moved[False][first]) for ranks in gas.RANKS[1:]]
    return {
        "energies_equal": float(len(set(moved[True].values())) == 1),
        "plain_energies_apart": max(map(max, apart)),
    }


def number(cell: int, element: int) -> Fraction:
    """Return what sums.c gives as the number of a cell."""
    bits = cell * 2654435761 + element * 40503 + 12345
    bits = ((bits * 6364136223846793005 + 1442695040888963407) % 2**64) >> 20
    exponent = (cell // 2 * 37 + element) % 90 - 45
    return (bits % 33554432 - 16777216) * Fraction(2) ** exponent


def error_ulp(value: float, element: int) -> float:
    """Return how far a sum is from the exact one, in units of its last place."""
    exact = sum((number(cell, element) for cell in range(CELLS)), Fraction(0))
    return float(abs(Fraction(value) - exact) / Fraction(math.ulp(value)))


def _draw(workspace: Workspace, figures: dict[str, float]) -> list[Path]:
    panels = [
        (
            f"Allreduce of {size}, {ranks} ranks",
            [
                Bar("the tuned free choice", 1.0, "past"),
                Bar("in one order", figures[cost_figure("order", size, ranks)], "through"),
                Bar("exact", figures[cost_figure("ranks", size, ranks)], "through"),
            ],
        )
        for ranks in TIMED
        for size in SIZES
    ]
    return workspace.save(draw_bars(panels, three_digits), "same-bits")


_EQUAL = Estimator("1 where all bits are equal", 1, len(MPIS) * len(RANKS) * 2, "runs")
_COST = Estimator(
    "geometric mean over launches of the median time over that of the tuned free choice",
    LAUNCHES, ROUNDS, "rounds",
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
            Estimator("largest distance from the sum of fractions", 1, 960, "sums"),
            Target("<=", 0.5),
        ),
        Figure("energies_equal", "0 or 1", _ENERGIES, Target(">=", 1.0)),
        Figure(
            "plain_energies_apart", "ratio", _ENERGIES,
            "it says what energies added as usual come to, which has no best value",
        ),
        *(
            Figure(cost_figure(level, size, ranks), "ratio", _COST, judged)
            for ranks in TIMED
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
