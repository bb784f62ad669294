# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront blocks: one iteration of the paper's own algorithm over block sizes.

Out-of-core wavefront (2008), Figure 7a.  Three layouts of the data are compared: row-major, in
which a block is many small reads; block; and frontier, in which a block and each of its frontiers
is one read.  The paper found a best size in between, row-major ten times slower than the
sequential loop, and frontier 20 % faster than block.  Memory is capped to a quarter of the
matrices' bytes, so that the page cache cannot hide the disk; large blocks are swept by as many
threads as have room for theirs.  The last bar is an iteration of strips on the same matrices, 16
iterations with as many waves per pass as fit into the memory.
"""

from __future__ import annotations

import json
import statistics

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.wavefront import sweeps
from experiments.wavefront.capped import Applied, Cap, capped
from experiments.workspace import Workspace
from lanewise.launch.machine import core_count
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

SIDE = 2048
BLOCKS = (32, 64, 128, 256, 512)
LAYOUTS = ("row-major", "block", "frontier")
MEMORY_BYTES = 48 << 20
PROGRAM_BYTES = 8 << 20  # its code, its stacks and the borders of blocks
ITERATIONS = 16
CHAINED = 3
ROUNDS = 5
PROCESSORS = 4

Times = dict[tuple[str, int], float]


def run(workspace: Workspace) -> Outcome:
    """Time one iteration for each layout and size; chained and flushed waves at the best."""
    threads = max(2, core_count())
    times: Times = {}
    with capped(Cap(memory_bytes=MEMORY_BYTES), workspace.folder) as applied:
        applied.require()
        sequential_s = _time(workspace, applied, ("row-major", 64, SIDE), (1, 1))
        for block in BLOCKS:
            workspace.say(f"blocks of {block} x {block}")
            for layout in LAYOUTS:
                place = (layout, block, block)
                room = threads_with_room(block, block, threads)
                times[layout, block] = _time(workspace, applied, place, (room, 1))
        # As in the paper: each of four processors owns M/P rows, all of them one row of blocks.
        best = min(chained_blocks(), key=lambda block: times["frontier", block])
        workspace.say(f"{CHAINED} waves, chained and flushed, {ROUNDS} times, interleaved")
        runs_s: dict[str, list[float]] = {"flushed": [], "chained": []}
        for number in range(2 * ROUNDS):
            chaining = ("flushed", "chained", "chained", "flushed")[number % 4]
            place, work = ("frontier", SIDE // PROCESSORS, best), (PROCESSORS, CHAINED)
            runs_s[chaining].append(_time(workspace, applied, place, work, chaining) / CHAINED)
        waves_s = {chaining: statistics.median(times_s) for chaining, times_s in runs_s.items()}
        with sweeps.store(workspace, SIDE) as store:
            options = ("--memory", "40MiB")
            ended = sweeps.iterate(store, ITERATIONS, *options, join=applied.joiner())
        strips_s = ended["user_s"] / ITERATIONS
        memory: int | str = MEMORY_BYTES if applied.memory else "not capped"
    figures = figures_of(times, sequential_s, waves_s, strips_s)
    return Outcome(
        figures=figures,
        rows=_rows(times, figures),
        conditions={"rows": SIDE, "columns": SIDE, "threads": threads, "memory_bytes": memory,
                    "best_block": best},
        files=workspace.save(
            draw_bars(_panels(times, sequential_s, strips_s), time_text, scale="log"),
            "wavefront-blocks",
        ),
        notes=applied.notes,
        curves={
            f"layouts/{layout}": [(block, times[layout, block]) for block in BLOCKS]
            for layout in LAYOUTS
        },
    )  # fmt: skip


def threads_with_room(rows: int, columns: int, wanted: int) -> int:
    """Return how many threads, up to `wanted`, have room for blocks of rows x columns.

    A thread holds a block of each of the six matrices, and two more while it moves one.
    """
    thread_bytes = (len(sweeps.MATRICES) + 2) * rows * columns * 8
    return min(wanted, (MEMORY_BYTES - PROGRAM_BYTES) // thread_bytes)


def chained_blocks() -> list[int]:
    """Return the columns of blocks for which all processors have room."""
    rows = SIDE // PROCESSORS
    return [b for b in BLOCKS if threads_with_room(rows, b, PROCESSORS) == PROCESSORS]


def _time(
    workspace: Workspace,
    applied: Applied,
    place: tuple[str, int, int],
    work: tuple[int, int],
    chaining: str = "chained",
) -> float:
    """Return seconds of `work` = (threads, iterations) on `place` = (layout, rows, columns)."""
    layout, rows, columns = place
    words = [layout, SIDE, rows, columns, *work, chaining]
    program = sweeps.native("lanewise-wavefront-blocks")
    line = [program, str(workspace.folder), *map(str, words)]
    return float(json.loads(sweeps.call(line, applied.joiner()))["elapsed_s"])


def figures_of(
    times: Times, sequential_s: float, waves_s: dict[str, float], strips_s: float
) -> dict[str, float]:
    """Return the figures: the best of each layout, and the ratios between them."""
    best = {
        layout: min(s for (other, _), s in times.items() if other == layout) for layout in LAYOUTS
    }
    return {
        **{f"{layout.replace('-', '_')}_best_s": s for layout, s in best.items()},
        "sequential_s": sequential_s,
        "strips_s": strips_s,
        "frontier_gain_over_block": best["block"] / best["frontier"],
        "row_major_over_sequential": best["row-major"] / sequential_s,
        "chained_gain_over_flushed": waves_s["flushed"] / waves_s["chained"],
        "strips_gain_over_frontier": best["frontier"] / strips_s,
    }


def _rows(times: Times, figures: dict[str, float]) -> list[Row]:
    paper = {
        "frontier_gain_over_block": "1.20",
        "row_major_over_sequential": "10",
        "chained_gain_over_flushed": "1.20",
        "strips_gain_over_frontier": "",
    }
    return [
        *(
            Row(f"{layout}, blocks of {block}", "", time_text(seconds))
            for (layout, block), seconds in times.items()
        ),
        Row("sequential loop", "", time_text(figures["sequential_s"])),
        Row(f"strips, {ITERATIONS} iterations", "", time_text(figures["strips_s"])),
        *(
            Row(key.replace("_", " "), value, three_digits(figures[key]))
            for key, value in paper.items()
        ),
    ]


def _panels(times: Times, sequential_s: float, strips_s: float) -> list[tuple[str, list[Bar]]]:
    blocks = [
        Bar(f"{layout}, {block}", times[layout, block], layout)
        for layout in LAYOUTS
        for block in BLOCKS
    ]
    others = [Bar("sequential", sequential_s, "other"), Bar("strips", strips_s, "other")]
    return [("Time of an iteration", [*blocks, *others])]


_ONCE = Estimator("time of an iteration, of the best block size", 1, 1, "iteration of each")
_RATIO = Estimator("of the times of an iteration at the best block size", 1, 1, "iteration of each")
_PAPER = "the paper's number is that of a disk of 2008; it stands beside it"

EXPERIMENT = Experiment(
    name="wavefront-blocks",
    paper="002 Fig. 7a",
    summary="one iteration of the paper's block wavefront in three layouts over block sizes",
    run=run,
    figures=(
        Figure("{layout}_best_s", "s", _ONCE, "it depends on the disk"),
        Figure("sequential_s", "s", _ONCE, "it depends on the disk"),
        Figure(
            "strips_s", "s", Estimator("time of an iteration", 1, ITERATIONS, "iterations"),
            "it depends on the disk",
        ),
        Figure("frontier_gain_over_block", "ratio", _RATIO, _PAPER),
        Figure("row_major_over_sequential", "ratio", _RATIO, _PAPER),
        Figure(
            "chained_gain_over_flushed", "ratio",
            Estimator("of median times", 1, ROUNDS, "runs of each"), _PAPER,
        ),
        Figure("strips_gain_over_frontier", "ratio", _RATIO, "the paper has no strips"),
    ),
)  # fmt: skip
