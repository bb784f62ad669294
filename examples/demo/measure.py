# SPDX-License-Identifier: BSD-3-Clause
"""Chapter 1: what messages cost on this machine, with an interval around every number.

The ranks are launched three times where a measurement has five, since a demonstration is short.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from examples.demo.story import Chapter, Shown, Stage
from lanewise.plots import curve_of, draw_curves
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import load
from lanewise.results.records import Point

RANKS = "4"
COLLECTIVES = ("scatter", "bcast", "allreduce")
SIZES = "8:512K:x4"
REPORT = "report.html"
HALF_WIDTH_MAX = 1.0  # of the median; a wider interval does not even tell the order of magnitude


def show(stage: Stage) -> Shown:
    """Measure how long a message takes, and three collectives."""
    measured = ("--sizes", SIZES, "--time-limit", "1s", "--launches", "3")
    stage.lanewise("measure", "pingpong", "-n", "2", *measured, "-o", "pingpong.jsonl")
    stage.lanewise("measure", *COLLECTIVES, "-n", RANKS, *measured, "-o", "collectives.jsonl")
    stage.lanewise("report", "pingpong.jsonl", "collectives.jsonl", "-o", REPORT)
    pingpong = load(stage.folder / "pingpong.jsonl").points
    collectives = load(stage.folder / "collectives.jsonl").points
    shortest = min(pingpong, key=lambda one: one.message_bytes)
    return Shown(
        f"{of_message(shortest)} {of_intervals([*pingpong, *collectives])}",
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


def of_message(point: Point) -> str:
    """Say how long a message takes, where its interval is narrow enough to tell."""
    size = size_text(point.message_bytes)
    if half_width(point) > HALF_WIDTH_MAX:
        return f"This machine was too busy to tell how long a message of {size} takes."
    return f"A message of {size} takes {time_text(point.median_s)} one way."


def of_intervals(points: Sequence[Point]) -> str:
    """Say how wide the intervals are; beyond HALF_WIDTH_MAX, that there is no figure to give."""
    repeated = f"Each of {len(points)} points was repeated in three launches of the ranks."
    typical = statistics.median(map(half_width, points))
    if typical > HALF_WIDTH_MAX:
        return (
            f"{repeated} This machine was too busy for a figure: half of the 95 % intervals over "
            f"launches are wider than ±{100 * HALF_WIDTH_MAX:.0f} %. Run it again while nothing "
            "else runs."
        )
    return f"{repeated} Half of the 95 % intervals over launches are within ±{100 * typical:.0f} %."


def half_width(point: Point) -> float:
    """Return half the width of a point's interval, relative to its median."""
    return (point.high_s - point.low_s) / 2 / point.median_s


CHAPTER = Chapter(
    name="measure",
    title="What messages cost, with an interval around every number",
    question="How long do messages and collectives take on this machine?",
    estimate_s=40,
    page="measure.md",
    show=show,
)
