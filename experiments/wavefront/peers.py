# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront peers: the same sweep by other means.

Out-of-core wavefront (2008), section 6.  numpy.memmap with a loop compiled by Numba, and a loop in
C++ over mapped files, leave the disk to the page cache, which reads every matrix again in every
iteration once they exceed memory.  All have the same cap on memory and start with a cold cache.
Dask's blocks see their neighbours as they were before the sweep, which is another sweep: its result
is compared, and not its time.
"""

from __future__ import annotations

import filecmp
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Applied, Cap, capped
from experiments.wavefront.memmap_sweep import compiled
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

SIDE = 4096
ITERATIONS = 8
MEMORY_BYTES = 512 << 20
BUDGET = "384MiB"
DASK_SIDE = 256
DASK_BLOCK = 64


def run(workspace: Workspace) -> Outcome:
    """Time each under the cap, from the same matrices, and compare the bits it leaves."""
    seconds: dict[str, float] = {}
    equal: dict[str, bool] = {}
    raw = workspace.folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir()
    try:
        with (
            sweeps.store(workspace, SIDE) as store,
            capped(Cap(memory_bytes=MEMORY_BYTES), workspace.folder) as applied,
        ):
            for name in sweeps.MATRICES:
                _export(store, name, raw / f"{name}.raw")
            shutil.copyfile(raw / "data.raw", raw / "initial.raw")
            workspace.say("lanewise wavefront")
            options = ("--memory", BUDGET)
            ended = sweeps.iterate(store, ITERATIONS, *options, join=applied.joiner())
            seconds["lanewise"] = ended["elapsed_s"]
            _export(store, "data", raw / "reference.raw")
            for name, line in _peers(raw).items():
                workspace.say(name)
                seconds[name] = _peer(raw, line, applied)
                equal[name] = filecmp.cmp(raw / "data.raw", raw / "reference.raw", shallow=False)
        memory = MEMORY_BYTES if applied.memory else "not limited"
    finally:
        shutil.rmtree(raw, ignore_errors=True)
    return _outcome(workspace, seconds, equal, memory)


def _export(store: Path, name: str, path: Path) -> None:
    sweeps.call([sweeps.native(sweeps.PROGRAM), "export", str(store), name, str(path)])


def _peers(raw: Path) -> dict[str, list[str]]:
    sizes = [str(raw), str(SIDE), str(ITERATIONS)]
    peers = {"mapped files, C++ loop": [sweeps.native("lanewise-wavefront-mmap"), *sizes]}
    if importlib.util.find_spec("numba"):
        program = Path(__file__).with_name("memmap_sweep.py")
        peers["numpy.memmap, Numba"] = [sys.executable, str(program), *sizes]
    return peers


def _peer(raw: Path, line: list[str], applied: Applied) -> float:
    shutil.copyfile(raw / "initial.raw", raw / "data.raw")
    for path in raw.iterdir():
        _forget(path)
    return float(json.loads(sweeps.call(line, applied.joiner()))["elapsed_s"])


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


def _outcome(
    workspace: Workspace,
    seconds: dict[str, float],
    equal: dict[str, bool],
    memory: int | str,
) -> Outcome:
    peers = {name: s for name, s in seconds.items() if name != "lanewise"}
    figures = {
        "speedup_over_best_peer": min(peers.values()) / seconds["lanewise"],
        "seconds_per_iteration": seconds["lanewise"] / ITERATIONS,
        "bits_equal": float(all(equal.values())),
    }
    rows = [Row(name, "", time_text(s / ITERATIONS)) for name, s in seconds.items()]
    rows.append(Row("speedup over the best", "", three_digits(figures["speedup_over_best_peer"])))
    error = dask_difference()
    if error is not None:
        figures["dask_error_max"] = error
        rows.append(Row("Dask map_overlap: wrong by up to", "", f"{error:.2g}"))
    missing = [] if "numpy.memmap, Numba" in seconds else ["Numba is missing: its loop is left out"]
    missing += [] if error is not None else ["Dask or Numba is missing: its answer is left out"]
    bars = [Bar(name, s / ITERATIONS, name) for name, s in seconds.items()]
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={
            "rows": SIDE,
            "columns": SIDE,
            "iterations": ITERATIONS,
            "memory_bytes": memory,
        },
        files=workspace.save(draw_bars([("An iteration", bars)], time_text), "wavefront-peers"),
        notes=missing,
    )


_RUN = f"run of {ITERATIONS} iterations from a cold cache"

EXPERIMENT = Experiment(
    name="wavefront-peers",
    paper="002 §6",
    summary="the same sweep with numpy.memmap and Numba, with mapped files, and with Dask",
    run=run,
    figures=(
        Figure(
            "speedup_over_best_peer", "ratio",
            Estimator("time of the fastest peer over ours", 1, 1, _RUN), Target(">=", 1.5),
        ),
        Figure(
            "bits_equal", "0 or 1", Estimator("whether all leave the same bits", 1, 1, _RUN),
            Target(">=", 1.0),
        ),
        Figure(
            "seconds_per_iteration", "s", Estimator("time of an iteration", 1, 1, _RUN),
            "it depends on the disk",
        ),
        Figure(
            "dask_error_max", "of values below 1",
            Estimator("largest error of a sweep by Dask", 1, 1, "sweep"),
            "it says what Dask computes",
        ),
    ),
)  # fmt: skip
