# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront directions: what it costs that iterations alternate their direction.

Beyond out-of-core wavefront (2008), whose sweeps go one way.  Fast sweeping (Zhao 2005) begins each
iteration at another corner.  Two iterations share a pass, then the rows turn, so a cycle of four
takes two passes over the disk where four iterations in one direction take one.  Each is run on a
row-major store, row by row, and on a skewed one, eight rows with one instruction.  All run under
the same cap on memory, in turn, and the clock is that of a user: it starts with the program and
ends with it.  The quicker cycle of a round is compared with the quicker run in one direction,
whatever their layouts: that is what a user would wait for who chose the store for the purpose.
The bits are compared with those of loops compiled by Numba.
"""

from __future__ import annotations

import importlib.util
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Cap, capped
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

SIDE = 8192
MEMORY_BYTES = 192 << 20
BUDGET = "160MiB"
CYCLE = 4
ROUNDS = 5
BITS_SIDE = 301
BITS_ITERATIONS = 11
ORDERS = ("fast-sweeping", "symmetric", "down-left,up-right,up-right")
# In order of the cycle: whether rows and columns go from the last to the first.
CORNERS = {
    "fast-sweeping": ((0, 0), (0, 1), (1, 1), (1, 0)),
    "symmetric": ((0, 0), (1, 1)),
    "down-left,up-right,up-right": ((0, 1), (1, 0), (1, 0)),
}
RUNS = {
    "one direction": ("row-major", "down-right", ()),
    "four directions": ("row-major", "fast-sweeping", ()),
    "one direction, 2 waves": ("row-major", "down-right", ("--waves", "2")),
    "symmetric": ("row-major", "symmetric", ()),
    "one direction, SIMD": ("skewed", "down-right", ()),
    "four directions, SIMD": ("skewed", "fast-sweeping", ()),
    "one direction, SIMD, 2 waves": ("skewed", "down-right", ("--waves", "2")),
    "symmetric, SIMD": ("skewed", "symmetric", ()),
}


def run(workspace: Workspace) -> Outcome:
    """Time each order of directions in turn, and compare bits with loops."""
    bits = _same_bits(workspace)
    seconds: dict[str, list[float]] = {name: [] for name in RUNS}
    ends: dict[str, list[dict[str, Any]]] = {name: [] for name in RUNS}
    stores = {layout: workspace.folder / f"store-{layout}" for layout in ("row-major", "skewed")}
    try:
        for layout, store in stores.items():
            _create(store, SIDE, layout)
        with capped(Cap(memory_bytes=MEMORY_BYTES), workspace.folder) as applied:
            applied.require()
            for number in range(ROUNDS):
                workspace.say(f"round {number + 1} of {ROUNDS}")
                for name, (layout, directions, options) in RUNS.items():
                    began_s = time.monotonic()
                    ended = sweeps.iterate(
                        stores[layout], CYCLE, "--directions", directions, "--memory", BUDGET,
                        *options, join=applied.joiner(),
                    )  # fmt: skip
                    seconds[name].append(time.monotonic() - began_s)
                    ends[name].append(ended)
    finally:
        for store in stores.values():
            shutil.rmtree(store, ignore_errors=True)
    by_round = figures_by_round(seconds)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    last = ends["four directions, SIMD"][-1]
    figures = {
        **{key: statistics.median(values) for key, values in by_round.items()},
        "bits_equal": float(bits),
        "bytes_ratio": _moved(last) / _moved(ends["one direction, SIMD"][-1]),
        "cycle_s": medians["four directions, SIMD"],
        "peak_over_cap": peak_bytes(ends) / MEMORY_BYTES,
    }
    return Outcome(
        figures=figures,
        rows=_rows(figures, medians),
        conditions={"rows": SIDE, "columns": SIDE, "kernel": "eikonal", "iterations": CYCLE,
                    "memory_bytes": MEMORY_BYTES, "budget": BUDGET,
                    "matrices_bytes": 2 * 8 * SIDE * SIDE, "threads": last["threads"],
                    "io": last["io"]},
        files=workspace.save(
            draw_bars(
                [("Four iterations", [Bar(name, s) for name, s in medians.items()])], time_text
            ),
            "wavefront-directions",
        ),
        launches=by_round,
    )  # fmt: skip


def peak_bytes(ends: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    """Return the highest peak of the runs of all rounds."""
    return int(max(end["peak_memory_bytes"] for runs in ends.values() for end in runs))


def _moved(end: Mapping[str, Any]) -> int:
    return int(end["read_bytes"] + end["written_bytes"])


def figures_by_round(seconds: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return what each round says by itself: times over those of one direction."""

    def quickest(name: str) -> list[float]:
        return [min(pair) for pair in zip(seconds[name], seconds[f"{name}, SIMD"], strict=True)]

    def ratios(times: list[float], base: list[float]) -> list[float]:
        return [a / b for a, b in zip(times, base, strict=True)]

    one, simd = quickest("one direction"), seconds["four directions, SIMD"]
    rows, by_rows = seconds["one direction"], seconds["four directions"]
    return {
        "fast_sweeping_over_one_direction": ratios(quickest("four directions"), one),
        "fast_sweeping_over_row_by_row": ratios(by_rows, rows),
        "fast_sweeping_over_simd": ratios(by_rows, seconds["one direction, SIMD"]),
        "fast_sweeping_over_two_waves": ratios(by_rows, seconds["one direction, 2 waves"]),
        "symmetric_over_one_direction": ratios(seconds["symmetric"], rows),
        "simd_cycle_over_simd": ratios(simd, seconds["one direction, SIMD"]),
        "simd_cycle_over_two_waves": ratios(simd, seconds["one direction, SIMD, 2 waves"]),
        "simd_symmetric_over_one_direction": ratios(seconds["symmetric, SIMD"], one),
    }


def _create(store: Path, side: int, layout: str) -> None:
    shutil.rmtree(store, ignore_errors=True)
    sides = ["--rows", str(side), "--cols", str(side)]
    kernel = ["--kernel", "eikonal", "--layout", layout]
    sweeps.call([sweeps.native(sweeps.PROGRAM), "create", str(store), *sides, *kernel])


def travel_times(u: Any, delays: Any, up: int, left: int) -> None:
    """Update `u` once in one direction, as Zhao writes it (2005, equation 2.3)."""
    rows, columns = u.shape
    for y in range(1, rows - 1):
        i = rows - 1 - y if up else y
        for x in range(1, columns - 1):
            j = columns - 1 - x if left else x
            a = min(u[i, j - 1], u[i, j + 1])
            b = min(u[i - 1, j], u[i + 1, j])
            f = delays[i, j]
            if abs(a - b) < f:
                arrival = 0.5 * ((a + b) + np.sqrt(2.0 * f * f - (a - b) * (a - b)))
            else:
                arrival = min(a, b) + f
            u[i, j] = min(u[i, j], arrival)


def _same_bits(workspace: Workspace) -> bool:
    if not importlib.util.find_spec("numba"):
        raise RunError("numba is not installed; the loops are compiled with it")
    import numba  # noqa: PLC0415

    function = numba.njit(travel_times)
    program = sweeps.native(sweeps.PROGRAM)
    store = workspace.folder / "bits"
    workspace.say("bits of every order, layout and number of waves")
    for order in ORDERS:
        for layout in ("row-major", "skewed", "frontier"):
            for waves in ("0", "1"):
                _create(store, BITS_SIDE, layout)
                u, delays = (_exported(program, store, name) for name in ("data", "coefficient0"))
                sweeps.iterate(
                    store, BITS_ITERATIONS, "--directions", order, "--waves", waves,
                    "--threads", "2",
                )  # fmt: skip
                for k in range(BITS_ITERATIONS):
                    function(u, delays, *CORNERS[order][k % len(CORNERS[order])])
                if not np.array_equal(_exported(program, store, "data"), u):
                    return False
    shutil.rmtree(store, ignore_errors=True)
    return True


def _exported(program: str, store: Path, name: str) -> Any:
    path = store.with_suffix(".npy")
    sweeps.call([program, "export", str(store), name, str(path)])
    values = np.load(path)
    path.unlink()
    return values


def _rows(figures: dict[str, float], medians: dict[str, float]) -> list[Row]:
    return [
        *(Row(f"4 iterations, {name}", "", time_text(s)) for name, s in medians.items()),
        Row(
            "a cycle over the quickest in one direction", "",
            three_digits(figures["fast_sweeping_over_one_direction"]),
        ),
        Row(
            "a cycle over one direction row by row", "",
            three_digits(figures["fast_sweeping_over_row_by_row"]),
        ),
        Row(
            "the same where both have 2 waves", "",
            three_digits(figures["simd_cycle_over_two_waves"]),
        ),
        Row("bytes moved over one direction", "", three_digits(figures["bytes_ratio"])),
        Row("same bits", "", "yes" if figures["bits_equal"] else "no"),
    ]  # fmt: skip


_RATIO = Estimator("median over rounds of two runs in turn", ROUNDS, CYCLE, "iterations")

EXPERIMENT = Experiment(
    name="wavefront-directions",
    paper="002 §6",
    summary="what alternating directions cost: a cycle of fast sweeping against one direction",
    run=run,
    figures=(
        Figure(
            "bits_equal", "0 or 1",
            Estimator("whether all orders give the bits of a loop", 1, 18, "runs"),
            Target(">=", 1.0),
        ),
        Figure(
            "fast_sweeping_over_one_direction", "ratio",
            Estimator(
                "median over rounds of the quickest cycle over the quickest run in one direction",
                ROUNDS, CYCLE, "iterations",
            ),
            Target("<=", 1.5),
        ),
        Figure(
            "fast_sweeping_over_two_waves", "ratio", _RATIO,
            "row by row; it says what turning costs by itself, the waves of a pass being as many",
        ),
        Figure(
            "symmetric_over_one_direction", "ratio", _RATIO,
            "row by row; each iteration takes a pass of its own, four times the transfers",
        ),
        Figure(
            "fast_sweeping_over_simd", "ratio", _RATIO,
            "a cycle row by row over one direction on a skewed store",
        ),
        Figure(
            "simd_cycle_over_two_waves", "ratio", _RATIO,
            "it says what turning costs by itself, the waves of a pass being as many",
        ),
        Figure(
            "simd_symmetric_over_one_direction", "ratio", _RATIO,
            "each iteration takes a pass of its own, four times the transfers",
        ),
        Figure(
            "fast_sweeping_over_row_by_row", "ratio", _RATIO,
            "both on a row-major store, without SIMD",
        ),
        Figure(
            "simd_cycle_over_simd", "ratio", _RATIO,
            "both on a skewed store",
        ),
        Figure(
            "bytes_ratio", "ratio",
            Estimator("bytes moved over those of one direction", 1, CYCLE, "iterations"),
            "it follows from the passes: two over one",
        ),
        Figure(
            "peak_over_cap", "ratio",
            Estimator("the highest peak of all runs over the cap", 1, ROUNDS * len(RUNS), "runs"),
            Target("<=", 1.0),
        ),
        Figure(
            "cycle_s", "s", Estimator("median of the rounds", ROUNDS, CYCLE, "iterations"),
            "it depends on the disk and the processor",
        ),
    ),
)  # fmt: skip
