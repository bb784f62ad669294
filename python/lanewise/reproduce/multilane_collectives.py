# SPDX-License-Identifier: BSD-3-Clause
"""Lanes under other collectives than the paper's, between two sites (beyond paper 001).

Broadcast, allgather and allreduce cross once in P slices.  In an alltoall every rank already sends
to the other site itself, so that lanes cannot add any: there the MPI's default stands beside all
messages at once.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from lanewise.plots import Bar, draw_bars
from lanewise.reproduce.experiment import Experiment, Outcome, Row
from lanewise.reproduce.two_sites import OWN, Contest, Sites, Times
from lanewise.reproduce.workspace import Workspace, failing_as_run
from lanewise.results.quantity import time_text
from lanewise.testbed import bed, shipped

RANKS = 8
TURNS = 2
LANES = (1, 2, 4)
OVER_LANES = ("default", *(f"multilane:{OWN}:{lanes}" for lanes in LANES))
# Each is a size that takes a second or so on one lane.
RACES = {
    "bcast": ("4M", OVER_LANES),
    "allgather": ("1M", OVER_LANES),
    "allreduce": ("4M", OVER_LANES),
    "alltoall": ("512K", ("default", "pairwise", "linear_nb")),
}


def run(workspace: Workspace) -> Outcome:
    """Race each collective between the two sites."""
    found: dict[str, Times] = {}
    with failing_as_run(), bed.raised(shipped.find("two-site")) as raised:
        sites = Sites(raised, workspace, RANKS)
        for collective, (size, ways) in RACES.items():
            (found[collective],) = sites.race(Contest(collective, (size,), TURNS, ways)).values()
    return Outcome(
        figures=figures_of(found),
        rows=[
            Row(f"{collective}, {RACES[collective][0]}, {way}", "", time_text(median_s))
            for collective, times in found.items()
            for way, median_s in medians(times).items()
        ],
        conditions={
            "ranks": RANKS,
            "turns": TURNS,
            "hosts": "2 sites of 4, LAN 10 Gb/s, WAN 250 Mb/s a host, 1 Gb/s in all, 5 ms",
        },
        files=_draw(workspace, found),
    )


def medians(times: Times) -> dict[str, float]:
    """Return the median of each way."""
    return {way: statistics.median(values) for way, values in times.items()}


def figures_of(found: Mapping[str, Times]) -> dict[str, float]:
    """Return what the best way gains over the default and over one lane."""
    figures: dict[str, float] = {}
    for collective, times in found.items():
        median_s = medians(times)
        ours = {way: each for way, each in median_s.items() if way != "default"}
        best_s = min(ours.values())
        figures[f"speedup_over_default_{collective}"] = median_s["default"] / best_s
        one_lane_s = median_s.get(f"multilane:{OWN}:1")
        if one_lane_s is not None:
            figures[f"speedup_over_one_lane_{collective}"] = one_lane_s / best_s
            best = min(LANES, key=lambda lanes: median_s[f"multilane:{OWN}:{lanes}"])
            figures[f"lanes_{collective}"] = best
    return figures


def _draw(workspace: Workspace, found: Mapping[str, Times]) -> list[Path]:
    panels = [
        (
            f"{collective}, {RACES[collective][0]}",
            [Bar(way, median_s) for way, median_s in medians(times).items()],
        )
        for collective, times in found.items()
    ]
    return workspace.save(draw_bars(panels, time_text), "multilane-collectives")


EXPERIMENT = Experiment(
    name="multilane-collectives",
    paper="001 §6",
    summary="broadcast, allgather, allreduce and alltoall between two sites",
    run=run,
)
