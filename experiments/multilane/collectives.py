# SPDX-License-Identifier: BSD-3-Clause
"""Lanes under other collectives than scatter and gather, between two sites.

This goes beyond the paper (multilane Scatter/Gather 2008).  Broadcast, allgather and allreduce
cross the link once, in P slices.  Algorithms that go by rank numbers depend on the placement of
ranks, and lanes do not: allreduce is compared with neighbouring ranks at one site, and with ranks
that alternate between the sites.  In an alltoall every rank already sends to the other site itself,
so that lanes cannot add any; there the MPI's default is compared with all messages at once.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.multilane.two_sites import IN_A_ROW, OWN, Comparison, Sites, Times
from experiments.workspace import Workspace, failing_as_run
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text
from lanewise.testbed import bed, shipped

RANKS = 8
ROUNDS = 2
LANES = (1, 2, 4)
OVER_LANES = ("default", *(f"multilane:{OWN}:{lanes}" for lanes in LANES))
BY_ROUNDS = tuple(f"{site}{host}" for host in range(1, 5) for site in "ab")


@dataclass(frozen=True)
class Case:
    """One collective at one size, with ranks on `hosts` in order."""

    collective: str
    size: str
    ways: Sequence[str] = OVER_LANES
    hosts: Sequence[str] = ()


CASES = {
    "bcast": Case("bcast", "4M"),
    "allgather": Case("allgather", "1M"),
    "allreduce": Case("allreduce", "4M"),
    "allreduce_by_turns": Case("allreduce", "4M", hosts=BY_ROUNDS),
    "alltoall": Case("alltoall", "512K", ("default", "pairwise", "linear_nb")),
}


def run(workspace: Workspace) -> Outcome:
    """Compare the ways of each collective between the two sites."""
    found: dict[str, Times] = {}
    with failing_as_run(), bed.created(shipped.find("two-site")) as raised:
        sites = Sites(raised, workspace, RANKS)
        for name, case in CASES.items():
            comparison = Comparison(
                case.collective, (case.size,), ROUNDS, case.ways, hosts=case.hosts
            )
            (found[name],) = sites.compare(comparison).values()
    return Outcome(
        figures=figures_of(found),
        rows=[
            Row(f"{_title(name)}, {way}", "", time_text(median_s))
            for name, times in found.items()
            for way, median_s in medians(times).items()
        ],
        conditions={
            "ranks": RANKS,
            "rounds": ROUNDS,
            "hosts": "2 sites of 4, LAN 10 Gb/s, WAN 250 Mb/s a host, 1 Gb/s in all, 5 ms",
        },
        files=_draw(workspace, found),
    )


def _title(name: str) -> str:
    return f"{name.replace('_', ' ')}, {CASES[name].size}"


def medians(times: Times) -> dict[str, float]:
    """Return the median of each way."""
    return {way: statistics.median(values) for way, values in times.items()}


def figures_of(found: Mapping[str, Times]) -> dict[str, float]:
    """Return what the best way gains over the default and over one lane."""
    figures: dict[str, float] = {}
    for name, times in found.items():
        median_s = medians(times)
        best_s = min(each for way, each in median_s.items() if way != "default")
        figures[f"default_{name}_s"] = median_s["default"]
        figures[f"best_{name}_s"] = best_s
        figures[f"speedup_over_default_{name}"] = median_s["default"] / best_s
        one_lane_s = median_s.get(OVER_LANES[1])
        if one_lane_s is not None:
            figures[f"speedup_over_one_lane_{name}"] = one_lane_s / best_s
    return figures


def _draw(workspace: Workspace, found: Mapping[str, Times]) -> list[Path]:
    panels = [
        (_title(name), [Bar(way, median_s) for way, median_s in medians(times).items()])
        for name, times in found.items()
    ]
    return workspace.save(draw_bars(panels, time_text), "multilane-collectives")


_MEDIAN = Estimator("of median times", 1, ROUNDS * IN_A_ROW, "executions of each way")
_BEYOND = "the paper has scatter and gather only; an alltoall has nothing to gain from lanes"

EXPERIMENT = Experiment(
    name="multilane-collectives",
    paper="001 §6",
    summary="broadcast, allgather, allreduce and alltoall between two sites",
    run=run,
    figures=(
        Figure("speedup_over_default_{collective}", "ratio", _MEDIAN, _BEYOND),
        Figure("speedup_over_one_lane_{collective}", "ratio", _MEDIAN, _BEYOND),
        Figure("default_{collective}_s", "s", _MEDIAN, "it depends on the links"),
        Figure("best_{collective}_s", "s", _MEDIAN, "it depends on the links"),
    ),
)
