# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront memory: what a sweep takes, against the budget it was given, whichever way it is begun.

Beyond out-of-core wavefront (2008), section 6, which takes its memory to be that of its blocks.
What counts is the high-water mark that the kernel keeps of each process, children included, over
a budget that the matrices exceed four times; changes are measured, which takes memory too.
Where an interpreter begins the sweep, what it has before, with NumPy and Numba, is counted apart:
`memory` is the budget of the sweep.  On ranks it is the budget of each.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.watched import watch
from experiments.workspace import Workspace, failing_as_run
from lanewise.launch import machine
from lanewise.launch.choose import choose, require_launcher
from lanewise.launch.job import Job
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import percent_text, size_text

ROUNDS, ITERATIONS, RANKS = 3, 32, 2
SIDE = 4096
BUDGET_BYTES = 64 << 20
TOLERANCE = ("--tolerance", "0")
RANKED = "lanewise-wavefront-ranks"


@dataclass(frozen=True)
class Taken:
    """The bytes that a sweep took of its budget, and those of the interpreter that began it."""

    sweep_bytes: int
    interpreter_bytes: int = 0


@dataclass(frozen=True)
class Scale:
    """How large the two matrices are, the budget, and how many rounds there are."""

    side: int = SIDE
    budget_bytes: int = BUDGET_BYTES
    rounds: int = ROUNDS


WHOLE, QUICK = Scale(), Scale(side=2048, budget_bytes=48 << 20, rounds=1)


@dataclass(frozen=True)
class Sweeps:
    """What the ways to begin a sweep share: where the matrices are, and the budget."""

    folder: Path
    budget_bytes: int

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of the command and of ranks."""
        return ("--iterations", str(ITERATIONS), "--memory", str(self.budget_bytes), *TOLERANCE)

    @property
    def sizes(self) -> tuple[str, str]:
        """Return iterations and budget, as our own programs take them."""
        return str(ITERATIONS), str(self.budget_bytes)

    def command(self) -> Taken:
        """Sweep by `lanewise wavefront run`, whose interpreter shows the progress."""
        words = ("-m", "lanewise", "wavefront", "run", str(self.folder / "skewed"))
        found = watch([sys.executable, *words, *self.options])
        interpreter = Path(sys.executable).resolve().name
        return Taken(
            sum(peak for path, peak in found.peaks if Path(path).name != interpreter),
            sum(found.peaks_of(interpreter)),
        )

    def native(self, way: str, store: str) -> Taken:
        """Sweep from a program in C or C++."""
        program = sweeps.native("lanewise-wavefront-memory")
        found = watch([program, way, str(self.folder / store), *self.sizes])
        return Taken(sum(peak for _, peak in found.peaks))

    def python(self, way: str, folder: str) -> Taken:
        """Sweep from a program in Python."""
        program = str(Path(__file__).with_name("front_end.py"))
        found = watch([sys.executable, program, way, str(self.folder / folder), *self.sizes])
        before_bytes = int(json.loads(found.printed)["before_bytes"])
        return Taken(sum(peak for _, peak in found.peaks) - before_bytes, before_bytes)

    def ranks(self) -> Taken:
        """Sweep on ranks; each has the budget, and the one that took most counts."""
        with failing_as_run():
            choice = choose("openmpi", os.environ)
            require_launcher(choice)
            program = choice.build.program(RANKED)
        part = str(self.folder / "part.%r")
        job = Job(
            program=(str(program), part, *self.options), ranks=RANKS, executable=choice.executable,
            mpi=choice.build.mpi, slots=machine.core_count(), cores=machine.core_count(),
            user_id=os.getuid(), folder=self.folder,
        )  # fmt: skip
        found = watch(choice.launcher.command(job), choice.launcher.environment(job))
        return Taken(max(found.peaks_of(program.resolve().name)))


def front_ends(swept: Sweeps) -> dict[str, Callable[[], Taken]]:
    """Return the ways to begin a sweep, by the names in the keys of figures."""
    ways: dict[str, Callable[[], Taken]] = {
        "command": swept.command,
        "c": partial(swept.native, "c", "row-major"),
        "cpp_rows": partial(swept.native, "cpp", "row-major"),
        "cpp_vectors": partial(swept.native, "cpp-vectors", "skewed"),
        "python": partial(swept.python, "built-in", "skewed"),
        "python_mapped": partial(swept.python, "mapped", "."),
        "ranks": swept.ranks,
    }
    if importlib.util.find_spec("numba"):
        ways["python_numba"] = partial(swept.python, "numba", "row-major")
    return ways


def run(workspace: Workspace, scale: Scale = WHOLE) -> Outcome:
    """Sweep in every way, round by round, and compare the peaks with the budget."""
    with matrices(workspace, scale.side) as folder:
        ways = front_ends(Sweeps(folder, scale.budget_bytes))
        taken: dict[str, list[Taken]] = {name: [] for name in ways}
        for number in range(scale.rounds):
            for name, sweep in ways.items():
                workspace.say(f"round {number + 1} of {scale.rounds}: {name}")
                taken[name].append(sweep())
    figures = figures_of(taken, scale.budget_bytes)
    bars = [Bar(name, figures[f"peak_over_budget_{name}"]) for name in taken]
    missing = [] if "python_numba" in ways else ["Numba is missing: its kernels are left out"]
    return Outcome(
        figures=figures,
        rows=_rows(taken, figures, scale.budget_bytes),
        conditions={"rows": scale.side, "columns": scale.side, "iterations": ITERATIONS,
                    "budget_bytes": scale.budget_bytes, "matrices_bytes": 16 * scale.side**2,
                    "ranks": RANKS},
        files=workspace.save(
            draw_bars([("Peak memory over the budget", bars)], percent_text, target=1.0),
            "wavefront-memory",
        ),
        notes=missing,
        launches={"peak_over_budget": peaks_by_round(taken, scale.budget_bytes)},
    )  # fmt: skip


@contextlib.contextmanager
def matrices(workspace: Workspace, side: int) -> Iterator[Path]:
    """Make the same two matrices in stores, in parts for ranks, and in files to be mapped."""
    folder = workspace.folder / "matrices"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    workspace.say(f"making two matrices of {side} x {side} in four ways")
    try:
        native, sides = sweeps.native(sweeps.PROGRAM), ("--rows", str(side), "--cols", str(side))
        stores = {layout: str(folder / layout) for layout in ("skewed", "row-major")}
        for layout, store in stores.items():
            kernel = ("--kernel", "sor", "--layout", layout)
            sweeps.call([native, "create", store, *sides, *kernel])
        parts = [str(folder / f"part.{rank}") for rank in range(RANKS)]
        sweeps.call([native, "split", stores["skewed"], *parts])
        for name in ("u", "f"):
            values = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", "float64",
                                               (side, side))  # fmt: skip
            values[:] = np.linspace(0.0, 1.0, side)
            values.flush()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figures_of(taken: dict[str, list[Taken]], budget_bytes: int) -> dict[str, float]:
    """Return the largest peaks over the budget, and what interpreters had before."""
    largest = {
        name: max(one.sweep_bytes for one in found) / budget_bytes for name, found in taken.items()
    }
    return {
        "peak_over_budget": max(largest.values()),
        **{f"peak_over_budget_{name}": share for name, share in largest.items()},
        **{
            f"interpreter_bytes_{name}": statistics.median(one.interpreter_bytes for one in found)
            for name, found in taken.items()
            if found[0].interpreter_bytes
        },
    }


def peaks_by_round(taken: dict[str, list[Taken]], budget_bytes: int) -> list[float]:
    """Return the largest share of each round."""
    rounds = zip(*taken.values(), strict=True)
    return [max(one.sweep_bytes for one in found) / budget_bytes for found in rounds]


def _rows(taken: dict[str, list[Taken]], figures: dict[str, float], budget_bytes: int) -> list[Row]:
    def text(name: str) -> str:
        share = figures[f"peak_over_budget_{name}"]
        apart = figures.get(f"interpreter_bytes_{name}")
        took = f"{percent_text(share)} of {size_text(budget_bytes)}"
        return took + (f", besides {size_text(int(apart))} of the interpreter" if apart else "")

    return [Row(name.replace("_", ", "), "", text(name)) for name in taken]


_RUN = f"run of {ITERATIONS} iterations in every way"

EXPERIMENT = Experiment(
    name="wavefront-memory",
    paper="002 §6",
    summary="the memory that a sweep takes against its budget, for every way to begin one",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=30.0),
    figures=(
        Figure(
            "peak_over_budget", "ratio",
            Estimator("largest peak of all ways and rounds over the budget", ROUNDS, 1, _RUN),
            Target("<=", 1.0),
        ),
        Figure(
            "peak_over_budget_{way}", "ratio",
            Estimator("largest peak of the rounds over the budget", ROUNDS, 1, _RUN),
            "the target is for the largest of them",
        ),
        Figure(
            "interpreter_bytes_{way}", "bytes",
            Estimator("median of what the interpreter has before the sweep", ROUNDS, 1, _RUN),
            "it depends on what a program imports; the budget is that of the sweep",
        ),
    ),
)  # fmt: skip
