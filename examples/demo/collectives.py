# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 1: measure and tune the collectives of an unmodified program, and run it tuned."""

from __future__ import annotations

import statistics

from examples.demo.story import Chapter, Shown, Stage
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text, time_text
from lanewise.tuning import interleaved, read
from lanewise.tuning.content import Point
from lanewise.tuning.interleaved import Interleaved

RANKS = "4"
FRAMES = "100"
ROUNDS = 8
# What the program calls, and with how much: blocks of 512 KiB, and one number.
COLLECTIVES = ("scatter", "gather", "allreduce")
SIZES = "4,64K,512K"
DRAWN_BYTES = 512 << 10
REPORT = "report.html"


def show(stage: Stage) -> Shown:
    """Measure, tune, and run the example program alternately plain and tuned."""
    stage.lanewise(
        "measure", *COLLECTIVES, "-n", RANKS, "--sizes", "8:512K:x4", "--time-limit", "1s",
        "-o", "samples.jsonl",
    )  # fmt: skip
    stage.lanewise(
        "tune", *COLLECTIVES, "-n", RANKS, "--sizes", SIZES, "--budget", "45s", "-o", "tuning.json"
    )
    stage.lanewise(
        "run", "--tuning", "tuning.json", "--interleaved", str(ROUNDS), "-o", "runs.json", "--",
        *stage.launch(RANKS), str(stage.programs / "frames"), FRAMES,
    )  # fmt: skip
    stage.lanewise("report", "samples.jsonl", "tuning.json", "runs.json", "-o", REPORT)
    tuning = read.load(stage.folder / "tuning.json")
    runs = interleaved.load(stage.folder / "runs.json")
    rules = sum(len(one.rules) for one in tuning.collectives.values())
    points = {
        f"{name} of {size_text(DRAWN_BYTES)} on {RANKS} ranks": point
        for name, one in tuning.collectives.items()
        for point in one.points
        if point.message_bytes == DRAWN_BYTES
    }
    title, bars = max(
        ((title, bars_of(point)) for title, point in points.items()),
        key=lambda panel: panel[1][0].value / panel[1][1].value,
    )
    program = [bar("plain", runs.plain_s), bar("tuned", runs.tuned_s)]
    return Shown(
        finding(rules, runs),
        draw_bars([(title, bars), ("run time of the program", program)], time_text),
        REPORT,
    )


def finding(rules: int, runs: Interleaved) -> str:
    """Return what was found as a sentence."""
    if rules == 0:
        return (
            "No other algorithm is significantly faster here than the MPI's own choice, twice by "
            "at least 3 %, so no rule was written and the program runs as before."
        )
    interval = runs.interval()
    told = f" (95 % interval {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return (
        f"{rules} rules name where another algorithm is faster than the MPI's own choice. With "
        f"them the unmodified program takes {runs.ratio():.2f} of its time{told}, over {ROUNDS} "
        "interleaved runs of each."
    )


def bars_of(point: Point) -> list[Bar]:
    """Return the MPI's choice at one size and the fastest candidate, confirmed where it was."""
    series = point.confirmation or point
    best = min(series.candidates, key=lambda one: one.figures.median_s)
    return [
        Bar(name, one.median_s, colour, one.low_s, one.high_s)
        for name, colour, one in (
            ("the MPI's choice", "plain", series.default),
            (best.choice.algorithm, "tuned", best.figures),
        )
    ]


def bar(name: str, times_s: list[float]) -> Bar:
    """Return the median of some runs; the ends are the fastest and the slowest."""
    return Bar(name, statistics.median(times_s), name, min(times_s), max(times_s))


CHAPTER = Chapter(
    name="collectives",
    title="Faster collectives for an unmodified program",
    question="Which algorithms beat the MPI's own choice here, and what does a program gain?",
    estimate_s=80,
    page="tune.md",
    show=show,
)
