# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 4: sweep over a matrix that does not fit into the memory it is given."""

from __future__ import annotations

import json

from examples.demo.story import Chapter, Shown, Stage
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text, time_text

SIDE = "6144"
KERNEL = ("--kernel", "sor")
MEMORY = ("--memory", "96MiB")
PLAIN_ITERATIONS = "8"
ITERATIONS = "64"


def show(stage: Stage) -> Shown:
    """Iterate over a store with one iteration per pass over the disk, then with many."""
    stage.lanewise("wavefront", "create", "matrix", "--rows", SIDE, "--cols", SIDE, *KERNEL)
    stored_bytes = sum(one.stat().st_size for one in (stage.folder / "matrix").iterdir())
    run = ("wavefront", "run", "matrix", *KERNEL, *MEMORY)
    plain = end_of(stage.lanewise(*run, "--iterations", PLAIN_ITERATIONS, "--waves", "1", "--json"))
    many = end_of(stage.lanewise(*run, "--iterations", ITERATIONS, "--json"))
    bars = [
        Bar("one iteration per pass", plain["elapsed_s"] / plain["iterations"], "plain"),
        Bar(f"{many['waves']} iterations per pass", many["elapsed_s"] / many["iterations"], "many"),
    ]
    gain = bars[0].value / bars[1].value
    return Shown(
        f"{size_text(stored_bytes)} of matrices on disk, {size_text(many['peak_memory_bytes'])} of "
        f"memory: with {many['waves']} iterations in one pass over the disk, an iteration takes "
        f"1/{gain:.0f} of the time, and the result is the same bit for bit.",
        draw_bars([("time per iteration of SOR", bars)], time_text),
    )


def end_of(printed: str) -> dict[str, float]:
    """Return the last event of a run."""
    events = [json.loads(line) for line in printed.splitlines()]
    ends = [one for one in events if one["event"] == "end"]
    if not ends:
        raise RunError("the sweep told no end")
    return dict(ends[-1])


CHAPTER = Chapter(
    name="sweep",
    title="Sweeps over matrices larger than memory",
    question="How much does it help to run many iterations in one pass over the disk?",
    estimate_s=15,
    page="wavefront.md",
    show=show,
)
