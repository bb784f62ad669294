# SPDX-License-Identifier: BSD-3-Clause
"""Scatter and gather over three unequal sites.

This goes beyond the paper (multilane Scatter/Gather 2008), which has two sites.  Sites of four,
three and two hosts differ in links and interfaces; the root is at the first.  Compared are the
MPI's default, one lane to each site, and several.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.multilane.two_sites import IN_A_ROW, Comparison, Sites, Times
from experiments.workspace import Workspace, failing_as_run
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text
from lanewise.testbed import bed, shipped

RANKS = 9
SIZE = "4M"
ROUNDS = 2
LANES = (1, 2, 4)
WAYS = ("default", "single_lane", *(f"multilane:0:{lanes}" for lanes in LANES))


def run(workspace: Workspace) -> Outcome:
    """Compare scatters and gathers over the three sites."""
    found: dict[str, Times] = {}
    with failing_as_run(), bed.created(shipped.find("three-site")) as raised:
        sites = Sites(raised, workspace, RANKS)
        for collective in ("scatter", "gather"):
            (found[collective],) = sites.compare(
                Comparison(collective, (SIZE,), ROUNDS, WAYS)
            ).values()
    return Outcome(
        figures=figures_of(found),
        rows=[
            Row(f"{collective}, {way}", "", time_text(statistics.median(values)))
            for collective, times in found.items()
            for way, values in times.items()
        ],
        conditions={"hosts": "sites of 4, 3 and 2", "message": SIZE, "rounds": ROUNDS},
        files=_draw(workspace, found),
    )


def figures_of(found: Mapping[str, Times]) -> dict[str, float]:
    """Return what the best number of lanes gains, and which it is."""
    figures: dict[str, float] = {}
    for collective, times in found.items():
        median_s = {way: statistics.median(values) for way, values in times.items()}
        lanes = min(LANES, key=lambda each: median_s[f"multilane:0:{each}"])
        best_s = median_s[f"multilane:0:{lanes}"]
        figures[f"speedup_{collective}"] = median_s["single_lane"] / best_s
        figures[f"speedup_over_default_{collective}"] = median_s["default"] / best_s
        figures[f"lanes_{collective}"] = lanes
    return figures


def _draw(workspace: Workspace, found: Mapping[str, Times]) -> list[Path]:
    panels = [
        (
            f"{collective}, {SIZE}",
            [Bar(way, statistics.median(values)) for way, values in times.items()],
        )
        for collective, times in found.items()
    ]
    return workspace.save(draw_bars(panels, time_text), "multilane-sites")


_MEDIAN = Estimator("of median times", 1, ROUNDS * IN_A_ROW, "executions of each way")
_BEYOND = "the paper has no third site, and the lanes that help depend on where the root is"

EXPERIMENT = Experiment(
    name="multilane-sites",
    paper="001 §6",
    summary="scatter and gather over three unequal sites",
    run=run,
    figures=(
        Figure("speedup_{collective}", "ratio", _MEDIAN, _BEYOND),
        Figure("speedup_over_default_{collective}", "ratio", _MEDIAN, _BEYOND),
        Figure("lanes_{collective}", "lanes", _MEDIAN, _BEYOND),
    ),
)
