# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 2: tune the collectives of an unmodified program between two sites, and run it tuned."""

from __future__ import annotations

import statistics

from examples.demo.story import Chapter, Shown, Stage
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text, time_text
from lanewise.tuning import interleaved, read
from lanewise.tuning.content import Figures, Point

BED = ("testbed", "run", "two-site", "--", "lanewise")
RANKS = "8"
# What the program calls, and with how much.
COLLECTIVES = ("scatter", "gather")
MESSAGE = "512K"
FRAMES = "20"
ROUNDS = 6


def show(stage: Stage) -> Shown:
    """Create two sites of four hosts, tune on them, and run a program plain and tuned."""
    stage.lanewise(
        *BED, "tune", *COLLECTIVES, "-n", RANKS, "--sizes", MESSAGE, "--algorithm", "multilane",
        "--repetitions", "6:30", "--budget", "60s", "-o", "tuning.json",
    )  # fmt: skip
    stage.lanewise(
        *BED, "run", "--tuning", "tuning.json", "--interleaved", str(ROUNDS), "-o", "runs.json",
        "--", *stage.launch(RANKS), str(stage.programs / "frames"), FRAMES,
    )  # fmt: skip
    point = read.load(stage.folder / "tuning.json").collectives["scatter"].points[0]
    runs = interleaved.load(stage.folder / "runs.json")
    scatter = bars_of(point)
    program = [runs_bar("plain", runs.plain_s), runs_bar("tuned", runs.tuned_s)]
    interval = runs.interval()
    told = f" (95 % interval {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return Shown(
        "Two sites of four hosts, 5 ms apart, are network namespaces on this machine. One "
        "connection cannot fill the link between them; several lanes can. With the rules that "
        f"were found, an unmodified MPI program takes {runs.ratio():.2f} of its time{told}.",
        draw_bars(
            [
                (f"scatter of {size_text(point.message_bytes)} between two sites", scatter),
                ("run time of an unmodified program", program),
            ],
            time_text,
        ),
    )


def bars_of(point: Point) -> list[Bar]:
    """Return the time of the MPI's choice, and those with each number of lanes."""
    lanes = sorted(point.candidates, key=lambda one: one.choice.lanes)
    return [
        figures_bar("the MPI's choice", "plain", point.default),
        *(
            figures_bar(lanes_text(one.choice.lanes), "tuned", one.figures)
            for one in lanes
        ),
    ]  # fmt: skip


def lanes_text(lanes: int) -> str:
    """Return a number of lanes in words."""
    return f"{lanes} {'lane' if lanes == 1 else 'lanes'}"


def figures_bar(name: str, series: str, figures: Figures) -> Bar:
    """Return a median with its interval as a bar."""
    return Bar(name, figures.median_s, series, figures.low_s, figures.high_s)


def runs_bar(name: str, times_s: list[float]) -> Bar:
    """Return the median of some runs as a bar; its ends are the fastest and the slowest."""
    return Bar(name, statistics.median(times_s), name, min(times_s), max(times_s))


CHAPTER = Chapter(
    name="sites",
    title="A faster program between two sites, unmodified",
    question="What does a program gain when its collectives use several lanes of a long link?",
    estimate_s=90,
    page="multilane.md",
    show=show,
)
