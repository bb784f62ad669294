# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 2: scatter between two sites, on one connection and on several lanes."""

from __future__ import annotations

from collections.abc import Iterable

from examples.demo.story import Chapter, Shown, Stage
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text
from lanewise.tuning import read
from lanewise.tuning.content import Candidate, Figures

RANKS = "8"
LANES = (1, 2, 4)


def show(stage: Stage) -> Shown:
    """Create two sites of four hosts on this machine, and tune scatter on them."""
    stage.lanewise(
        "testbed", "run", "two-site", "--", "lanewise", "tune", "scatter", "-n", RANKS,
        "--sizes", "1M", "--repetitions", "6:30", "--time-limit", "40s", "-o", "tuning.json",
    )  # fmt: skip
    point = read.load(stage.folder / "tuning.json").collectives["scatter"].points[0]
    over_lanes = {one.choice.algorithm for one in point.candidates if one.choice.lanes > 1}
    bars = [bar("the MPI's choice", "plain", point.default)]
    for lanes in LANES:
        best = fastest(
            one
            for one in point.candidates
            if one.choice.lanes == lanes and one.choice.algorithm in over_lanes
        )
        name = f"{best.choice.algorithm}, {lanes} {'lane' if lanes == 1 else 'lanes'}"
        bars.append(bar(name, "lanes", best.figures))
    gain = bars[0].value / bars[-1].value
    return Shown(
        "Two sites of four hosts, 5 ms apart, are network namespaces on this machine. One "
        "connection cannot fill the link between them; four lanes scatter 1 MiB to each of "
        f"{RANKS} ranks {gain:.1f} times as fast as the MPI.",
        draw_bars([("scatter of 1 MiB between two sites", bars)], time_text),
    )


def fastest(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate with the lowest median."""
    return min(candidates, key=lambda one: one.figures.median_s)


def bar(name: str, series: str, figures: Figures) -> Bar:
    """Return a median with its interval as a bar."""
    return Bar(name, figures.median_s, series, figures.low_s, figures.high_s)


CHAPTER = Chapter(
    name="sites",
    title="Two sites: fill a link that one connection cannot",
    question="What do several lanes between two sites gain over one connection?",
    estimate_s=45,
    page="multilane.md",
    show=show,
)
