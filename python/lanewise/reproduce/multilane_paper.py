# SPDX-License-Identifier: BSD-3-Clause
"""The paper's own experiment: 2 x 32 nodes, simulated with its TCP window (paper 001, section 5).

In 2008 a connection carried 250 Mb/s over 5 ms, since Linux's default buffers held 312 KB; over
20 ms the same window gives 62 Mb/s (the paper says 65 to 70).  LAN and WAN have 1 Gb/s each.
The paper's three steps race against the single lane as in the paper; the pipelined lanes beside
them show what the overlap of the steps adds.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from lanewise.plots import Curve, draw_curves
from lanewise.reproduce.experiment import Experiment, Outcome, Row
from lanewise.reproduce.simulated_sites import SimulatedSites, placed
from lanewise.reproduce.workspace import SIMULATED, Workspace
from lanewise.results.quantity import time_text

HOSTS = 32
GIGABIT = 125e6
LANE_BPS = 250e6 / 8
DELAYS_MS = (5, 20)
WINDOW_BYTES = LANE_BPS * 2 * 5e-3
LARGE = 4 << 20
LANES = (1, 2, 4, 8, 16, 32)
COLLECTIVES = ("scatter", "gather")
FORMS = ("three_step", "multilane")

Times = dict[str, float]


def run(workspace: Workspace) -> Outcome:
    """Simulate scatter and gather at both delays."""
    found = {
        (collective, delay): simulated(workspace, collective, delay)
        for collective in COLLECTIVES
        for delay in DELAYS_MS
    }
    figures = {}
    for (collective, delay), times in found.items():
        ending = "" if delay == DELAYS_MS[0] else f"_{delay}ms"
        for form, name in zip(FORMS, ("speedup", "pipelined_speedup"), strict=True):
            _, best_s = best(times, form)
            figures[f"{name}_{collective}{ending}"] = times["single_lane"] / best_s
        figures[f"lanes_{collective}{ending}"] = best(times, "three_step")[0]
    return Outcome(
        figures=figures,
        rows=rows_of(found, figures),
        conditions={
            "hosts": f"2 sites of {HOSTS}, simulated; LAN and WAN 1 Gb/s",
            "window_bytes": WINDOW_BYTES,
            "message_bytes": LARGE,
        },
        files=_draw(workspace, found),
    )


def simulated(workspace: Workspace, collective: str, delay_ms: int) -> Times:
    """Return the seconds of each way at one delay."""
    sites = SimulatedSites((HOSTS, HOSTS), GIGABIT, GIGABIT, GIGABIT, delay_ms / 1e3, WINDOW_BYTES)
    ways = ["default", "single_lane", *(f"{form}:0:{each}" for form in FORMS for each in LANES)]
    with placed(sites, workspace.folder):
        answer = workspace.ask(
            "lanewise-lane-race",
            sites.ranks,
            arguments=[collective, str(LARGE), "1", *ways],
            fabric=SIMULATED,
            cluster=sites.simulated(),
        )
    times = answer["points"][0]["times_s"]
    return {way: statistics.median(values) for way, values in times.items()}


def best(times: Times, form: str) -> tuple[int, float]:
    """Return the P that is fastest in a form, and its seconds."""
    lanes = min(LANES, key=lambda each: times[f"{form}:0:{each}"])
    return lanes, times[f"{form}:0:{lanes}"]


def rows_of(found: Mapping[tuple[str, int], Times], figures: Mapping[str, float]) -> list[Row]:
    """Return a row for each collective, delay and form."""
    rows = []
    told: dict[tuple[str, int], Sequence[str]] = {
        ("scatter", 5): ("1.5 to 2.0",),
        ("gather", 5): ("about 2",),
    }
    for (collective, delay), times in found.items():
        ending = "" if delay == DELAYS_MS[0] else f"_{delay}ms"
        paper = told.get((collective, delay), ("",))[0]
        three, pipelined = best(times, "three_step"), best(times, "multilane")
        what = f"{collective}, {delay} ms: "
        speedup = figures[f"speedup_{collective}{ending}"]
        rows += [
            Row(f"{what}single lane", "", time_text(times["single_lane"])),
            Row(f"{what}three steps, {three[0]} lanes", "", time_text(three[1])),
            Row(f"{what}single / three steps", paper, f"{speedup:.2f}"),
            Row(f"{what}pipelined, {pipelined[0]} lanes", "", time_text(pipelined[1])),
        ]
    return rows


def _draw(workspace: Workspace, found: Mapping[tuple[str, int], Times]) -> list[Path]:
    panels = []
    for (collective, delay), times in found.items():
        lanes = [float(each) for each in LANES]
        curves = [
            Curve(form.replace("_", " "), lanes, [times[f"{form}:0:{each}"] for each in LANES])
            for form in FORMS
        ]
        panels.append((f"{collective}, {delay} ms, over lanes", curves))
    return workspace.save(draw_curves(panels), "multilane-paper")


EXPERIMENT = Experiment(
    name="multilane-paper",
    paper="001 §5",
    summary="2 x 32 nodes with the TCP window of 2008, simulated",
    run=run,
)
