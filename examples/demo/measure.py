# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 1: what messages cost on this machine, with an interval around every number.

The ranks are launched three times where a measurement has five, since a demonstration is short.
"""

from __future__ import annotations

import statistics

from examples.demo.story import Chapter, Shown, Stage
from lanewise.plots import curve_of, draw_curves
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import load

RANKS = "4"
COLLECTIVES = ("scatter", "bcast", "allreduce")
SIZES = "8:512K:x4"
REPORT = "report.html"


def show(stage: Stage) -> Shown:
    """Measure how long a message takes, and three collectives."""
    measured = ("--sizes", SIZES, "--time-limit", "1s", "--launches", "3")
    stage.lanewise("measure", "pingpong", "-n", "2", *measured, "-o", "pingpong.jsonl")
    stage.lanewise("measure", *COLLECTIVES, "-n", RANKS, *measured, "-o", "collectives.jsonl")
    stage.lanewise("report", "pingpong.jsonl", "collectives.jsonl", "-o", REPORT)
    pingpong = load(stage.folder / "pingpong.jsonl").points
    collectives = load(stage.folder / "collectives.jsonl").points
    shortest = min(pingpong, key=lambda one: one.message_bytes)
    widths = [(one.high_s - one.low_s) / 2 / one.median_s for one in [*pingpong, *collectives]]
    return Shown(
        f"A message of {size_text(shortest.message_bytes)} takes {time_text(shortest.median_s)} "
        f"one way. Each of {len(widths)} points was repeated in three launches of the ranks. Half "
        f"of the 95 % intervals over launches are within ±{100 * statistics.median(widths):.0f} %.",
        draw_curves(
            [
                ("one message, half the round trip", [curve_of("pingpong", pingpong)]),
                (
                    f"collectives on {RANKS} ranks",
                    [
                        curve_of(name, (one for one in collectives if one.operation == name))
                        for name in COLLECTIVES
                    ],
                ),
            ]
        ),
        REPORT,
    )


CHAPTER = Chapter(
    name="measure",
    title="What messages cost, with an interval around every number",
    question="How long do messages and collectives take on this machine?",
    estimate_s=40,
    page="measure.md",
    show=show,
)
