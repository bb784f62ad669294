# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront peers: the same sweep by other means.

Out-of-core wavefront (2008), section 6.  numpy.memmap with a loop compiled by Numba, and a loop in
C++ over mapped files, leave the disk to the page cache, which reads every matrix again in every
iteration once they exceed memory.  The strongest peer is what a person would write who knows of
waves: numpy.memmap with all iterations in one pass, some rows apart, in parallel.  All have a
quarter of the matrices' bytes as memory, page cache included, start with a cold cache, and may use
all cores; they take turns, and each turn begins with another one of them.  Our clock starts with
the program and ends with it, that of the peers when Numba has compiled.
Dask's blocks see their neighbours as they were before the sweep, which is another sweep: its result
is compared, and not its time.
"""

from __future__ import annotations

import contextlib
import filecmp
import importlib.util
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Applied, Cap, capped
from experiments.wavefront.memmap_sweep import compiled
from experiments.workspace import Workspace
from lanewise.launch import machine
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import median_interval
from lanewise.results.quantity import three_digits, time_text

OURS = "lanewise"
ROUNDS = 6  # the fewest of which the interval of a median is known
BUDGET_MIN_BYTES = 64 << 20  # of the matrices whose bits are compared
DASK_SIDE = 256
DASK_BLOCK = 64


@dataclass(frozen=True)
class Scale:
    """How large the matrices are and how often they are swept.

    Where a peer reads everything again in every iteration, `plain_iterations` tell what each takes.
    """

    side: int = 8192
    iterations: int = 64
    plain_iterations: int = 4
    rounds: int = ROUNDS

    @property
    def cap_bytes(self) -> int:
        """Return what a sweep may have in memory, page cache included."""
        return 8 * len(sweeps.MATRICES) * self.side * self.side // 4

    @property
    def budget_bytes(self) -> int:
        """Return the budget that ours is given: the kernel has pages of its own in the cap."""
        return max(self.cap_bytes * 5 // 6, BUDGET_MIN_BYTES)


WHOLE, QUICK = Scale(), Scale(side=4096, iterations=32, plain_iterations=2, rounds=1)
# Of the runs whose bits are compared: all with as many iterations.
SMALL = Scale(side=1000, iterations=16, plain_iterations=16, rounds=1)


@dataclass(frozen=True)
class Peer:
    """A program that sweeps raw files: `line` without the folder and the side."""

    line: tuple[str, ...]
    iterations: int
    waves: int = 1

    def words(self, raw: Path, side: int) -> list[str]:
        """Return its command line."""
        also = [] if len(self.line) == 1 else [str(self.waves)]
        return [*self.line, str(raw), str(side), str(self.iterations), *also]


def peers(scale: Scale) -> dict[str, Peer]:
    """Return the peers that this machine has, by name."""
    plain = scale.plain_iterations
    found = {"mapped files, C++ loop": Peer((sweeps.native("lanewise-wavefront-mmap"),), plain)}
    if importlib.util.find_spec("numba"):
        line = (sys.executable, str(Path(__file__).with_name("memmap_sweep.py")))
        found["numpy.memmap, Numba"] = Peer(line, plain)
        found["numpy.memmap, Numba, all waves at once"] = Peer(
            line, scale.iterations, scale.iterations
        )
    return found


def run(workspace: Workspace, scale: Scale = WHOLE) -> Outcome:
    """Time each in turn under the cap, from the same matrices, and compare the bits it leaves."""
    equal = same_bits(workspace)
    seconds: dict[str, list[float]] = {}
    with (
        files(workspace, scale) as swept,
        capped(Cap(memory_bytes=scale.cap_bytes), workspace.folder) as applied,
    ):
        if scale == WHOLE:
            applied.require()
        sides = {OURS: partial(swept.ours_s, applied)}
        for name, peer in peers(scale).items():
            sides[name] = partial(swept.peer_s, peer, applied)
        names = list(sides)
        for number in range(scale.rounds):
            workspace.say(f"round {number + 1} of {scale.rounds}")
            first = number % len(names)
            for name in names[first:] + names[:first]:
                seconds.setdefault(name, []).append(sides[name]())
    return _outcome(workspace, scale, seconds, equal, applied)


def same_bits(workspace: Workspace) -> bool:
    """Sweep small matrices by all means, as often, and compare what they leave."""
    with files(workspace, SMALL) as swept:
        swept.ours_s(Applied())
        reference = swept.raw / "reference.raw"
        swept.export("data", reference)
        equal = True
        for peer in peers(SMALL).values():
            swept.peer_s(peer, Applied())
            equal &= filecmp.cmp(swept.raw / "data.raw", reference, shallow=False)
    return equal


@dataclass(frozen=True)
class Files:
    """A store, and the same matrices as raw files."""

    raw: Path
    store: Path
    scale: Scale

    def export(self, name: str, path: Path) -> None:
        """Write a matrix of the store into a raw file."""
        sweeps.call([sweeps.native(sweeps.PROGRAM), "export", str(self.store), name, str(path)])

    def ours_s(self, applied: Applied) -> float:
        """Sweep the store once more and return the seconds of an iteration."""
        options = ("--memory", str(self.scale.budget_bytes))
        ended = sweeps.iterate(self.store, self.scale.iterations, *options, join=applied.joiner())
        return float(ended["user_s"]) / self.scale.iterations

    def peer_s(self, peer: Peer, applied: Applied) -> float:
        """Sweep the raw files from their first contents; return the seconds of an iteration."""
        shutil.copyfile(self.raw / "initial.raw", self.raw / "data.raw")
        for path in self.raw.iterdir():
            _forget(path)
        printed = sweeps.call(peer.words(self.raw, self.scale.side), applied.joiner())
        return float(json.loads(printed)["elapsed_s"]) / peer.iterations


@contextlib.contextmanager
def files(workspace: Workspace, scale: Scale) -> Iterator[Files]:
    """Make the matrices in both forms, and remove them afterwards."""
    raw = workspace.folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir()
    try:
        with sweeps.store(workspace, scale.side) as store:
            made = Files(raw, store, scale)
            for name in sweeps.MATRICES:
                made.export(name, raw / f"{name}.raw")
            shutil.copyfile(raw / "data.raw", raw / "initial.raw")
            yield made
    finally:
        shutil.rmtree(raw, ignore_errors=True)


def _forget(path: Path) -> None:
    """Write a file to the disk and evict it from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def dask_difference() -> float | None:
    """Return the largest error of one sweep by Dask's overlapping blocks, None without Dask."""
    if not (importlib.util.find_spec("dask") and importlib.util.find_spec("numba")):
        return None
    import dask.array  # noqa: PLC0415

    generator = np.random.default_rng(1)
    scales = (1.0, 0.25, 0.25, 0.25, 0.25, 0.25)
    matrices = [scale * generator.random((DASK_SIDE, DASK_SIDE)) for scale in scales]
    function = compiled()

    def swept(*blocks: Any) -> Any:
        copies = [np.ascontiguousarray(block) for block in blocks]
        copies[0] = copies[0].copy()
        function(*copies)
        return copies[0]

    lazy = [dask.array.from_array(m, chunks=(DASK_BLOCK, DASK_BLOCK)) for m in matrices]
    cut = dask.array.map_overlap(swept, *lazy, depth=1, boundary="none", dtype="float64")
    return float(np.abs(cut.compute(scheduler="synchronous") - swept(*matrices)).max())


def best_peer(seconds: Mapping[str, Sequence[float]]) -> str:
    """Return the peer whose median over the rounds is least."""
    others = [name for name in seconds if name != OURS]
    return min(others, key=lambda name: statistics.median(seconds[name]))


def speedups(seconds: Mapping[str, Sequence[float]]) -> list[float]:
    """Return, for each round, the time of the best peer over ours."""
    best = seconds[best_peer(seconds)]
    return [peer_s / ours_s for peer_s, ours_s in zip(best, seconds[OURS], strict=True)]


def _outcome(
    workspace: Workspace,
    scale: Scale,
    seconds: Mapping[str, list[float]],
    equal: bool,  # noqa: FBT001 - a result, not a switch
    applied: Applied,
) -> Outcome:
    by_round = speedups(seconds)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    low, high = median_interval(by_round)
    figures = {
        "speedup_over_best_peer": statistics.median(by_round),
        "speedup_over_best_peer_low": low,
        "speedup_over_best_peer_high": high,
        "seconds_per_iteration": medians[OURS],
        "bits_equal": float(equal),
    }
    rows = [Row(name, "", time_text(median_s)) for name, median_s in medians.items()]
    rows.append(
        Row(
            f"speedup over {best_peer(seconds)}",
            "",
            three_digits(figures["speedup_over_best_peer"]),
        )
    )
    error = dask_difference()
    if error is not None:
        figures["dask_error_max"] = error
        rows.append(Row("Dask map_overlap: wrong by up to", "", f"{error:.2g}"))
    missing = (
        [] if importlib.util.find_spec("numba") else ["Numba is missing: its loops are left out"]
    )
    missing += [] if error is not None else ["Dask or Numba is missing: its answer is left out"]
    bars = [
        Bar(name, medians[name], name, low=min(values), high=max(values))
        for name, values in seconds.items()
    ]
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={
            "rows": scale.side, "columns": scale.side, "iterations": scale.iterations,
            "plain_iterations": scale.plain_iterations,
            "memory_bytes": scale.cap_bytes if applied.memory else "not capped",
            "threads": machine.core_count(),
            "seconds_by_round": {
                name: [round(value, 6) for value in values] for name, values in seconds.items()
            },
        },
        files=workspace.save(draw_bars([("An iteration", bars)], time_text), "wavefront-peers"),
        notes=[*applied.notes, *missing],
        launches={"speedup_over_best_peer": by_round},
    )  # fmt: skip


_RUN = "run from a cold cache"
_OURS = f"run of {WHOLE.iterations} iterations"

EXPERIMENT = Experiment(
    name="wavefront-peers",
    paper="002 §6",
    summary="the same sweep with numpy.memmap and Numba and with mapped files, and Dask's result",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=60.0),
    figures=(
        Figure(
            "speedup_over_best_peer", "ratio",
            Estimator(
                "median over rounds of the time of the peer with the least median over ours",
                ROUNDS, 1, _RUN,
            ),
            Target(">=", 1.5),
        ),
        Figure(
            "speedup_over_best_peer_low", "ratio",
            Estimator("lower end of the interval of that median", 1, ROUNDS, "rounds"),
            Target(">=", 1.5),
        ),
        Figure(
            "bits_equal", "0 or 1",
            Estimator("whether all leave the same bits", 1, SMALL.iterations, "iterations"),
            Target(">=", 1.0),
        ),
        Figure(
            "seconds_per_iteration", "s", Estimator("median over rounds", ROUNDS, 1, _OURS),
            "it depends on the disk",
        ),
        Figure(
            "dask_error_max", "of values below 1",
            Estimator("largest error of a sweep by Dask", 1, 1, "sweep"),
            "it says what Dask computes",
        ),
    ),
)  # fmt: skip
