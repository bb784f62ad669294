# SPDX-License-Identifier: BSD-3-Clause
"""Use of the link between two sites over time, with one lane and with several.

Multilane Scatter/Gather (2008), Figures 7 and 8.  Two sites are 20 ms apart and scatter and gather
blocks of 4 MB, as in the paper.  The counters of the link between the sites are read some hundred
times per second while the collectives run.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.multilane.two_sites import IN_A_ROW, Comparison, Sites
from experiments.workspace import Workspace, failing_as_run
from lanewise.plots import draw_rates
from lanewise.testbed import bed, fault, shipped
from lanewise.testbed.bed import Bed

RANKS = 8
DELAY = "20 ms"
LINK_BPS = 1e9
SIZE = "4M"
ROUNDS = 4
WAYS = {"single lane": "single_lane", "4 lanes": "multilane:0:4"}
# Toward the remote site in a scatter, from it in a gather.
COLLECTIVES = {"scatter": 0, "gather": 1}
INTERVAL_S = 0.01
CURVE_STEP_S = 0.2
BUSY_SHARE = 0.02


@dataclass
class Sampled:
    """What a link had delivered in one direction, and when."""

    times_s: list[float] = field(default_factory=list)
    delivered_bytes: list[int] = field(default_factory=list)

    def rates(self, step_s: float) -> tuple[list[float], list[float]]:
        """Return times and bits a second between points at least `step_s` apart."""
        times, rates = [], []
        at = 0
        for i in range(1, len(self.times_s)):
            passed_s = self.times_s[i] - self.times_s[at]
            if passed_s < step_s:
                continue
            carried = self.delivered_bytes[i] - self.delivered_bytes[at]
            times.append(self.times_s[i] - self.times_s[0])
            rates.append(8 * carried / passed_s)
            at = i
        return times, rates


def run(workspace: Workspace) -> Outcome:
    """Watch the link while one lane is used, then four."""
    sampled: dict[tuple[str, str], Sampled] = {}
    with failing_as_run(), bed.created(shipped.find("two-site")) as raised:
        plan = raised.plan()
        words = {"delay": DELAY, "queue": "5 MB"}
        fault.bring_about(raised, plan, fault.single("degrade", "a-b", words, plan))
        sites = Sites(raised, workspace, RANKS)
        for collective, direction in COLLECTIVES.items():
            for label, way in WAYS.items():
                with watched(raised, direction) as found:
                    sites.compare(Comparison(collective, (SIZE,), ROUNDS, (way,)))
                sampled[collective, label] = found
    figures = figures_of(sampled)
    return Outcome(
        figures=figures,
        rows=[
            Row(
                f"{collective}, {label}",
                _PAPER[collective, label],
                _rate_text(figures.get(_key(collective, label))),
            )
            for collective, label in sampled
        ],
        conditions={
            "ranks": RANKS,
            "delay": DELAY,
            "message": SIZE,
            "rounds": ROUNDS,
            "link": "1 Gb/s, 250 Mb/s a host",
        },
        files=_draw(workspace, sampled),
        curves={
            f"{collective}/{label}": [
                (time_s, rate / 1e6)
                for time_s, rate in zip(*found.rates(CURVE_STEP_S), strict=True)
            ]
            for (collective, label), found in sampled.items()
        },
    )


_PAPER = {
    ("scatter", "single lane"): "125 Mb/s of 1 Gb/s",
    ("scatter", "4 lanes"): "250 Mb/s",
    ("gather", "single lane"): "65 to 70 Mb/s",
    ("gather", "4 lanes"): "1 Gb/s",
}


def _key(collective: str, label: str) -> str:
    return f"{collective}_{label.replace(' ', '_')}_mbps"


def _rate_text(rate_mbps: float | None) -> str:
    return "never busy" if rate_mbps is None else f"{rate_mbps:.0f} Mb/s"


def figures_of(sampled: Mapping[tuple[str, str], Sampled]) -> dict[str, float]:
    """Return the median rate while the link is busy, in Mb/s; none of one that never was."""
    figures = {}
    for (collective, label), found in sampled.items():
        busy = [rate for rate in found.rates(5 * INTERVAL_S)[1] if rate > BUSY_SHARE * LINK_BPS]
        if busy:
            figures[_key(collective, label)] = statistics.median(busy) / 1e6
    return figures


@contextmanager
def watched(raised: Bed, direction: int) -> Iterator[Sampled]:
    """Read the counters of the only link meanwhile; what ends the reading is raised at the end."""
    found = Sampled()
    failed: list[Exception] = []
    ended = threading.Event()
    line = raised.plan().delay_lines[0].name

    def sample() -> None:
        try:
            read_until_ended()
        except Exception as error:  # raised in the thread that asked for the counters
            failed.append(error)

    def read_until_ended() -> None:
        while not ended.wait(INTERVAL_S):
            link = raised.ask(f"{line}.line", {"status": True})["links"][0]
            found.times_s.append(time.monotonic())
            found.delivered_bytes.append(link["directions"][direction]["delivered_bytes"])

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
    if failed:
        raise failed[0]


def _draw(workspace: Workspace, sampled: Mapping[tuple[str, str], Sampled]) -> list[Path]:
    panels = [
        (f"{collective}, {label}", *found.rates(5 * INTERVAL_S))
        for (collective, label), found in sampled.items()
    ]
    return workspace.save(draw_rates(panels, LINK_BPS), "multilane-utilisation")


_BUSY = Estimator("median rate of the link while it is busy", 1, ROUNDS * IN_A_ROW, "executions")

EXPERIMENT = Experiment(
    name="multilane-utilisation",
    paper="001 Fig. 7 and 8",
    summary="use of the WAN over time, on one lane and on four",
    run=run,
    figures=(
        Figure(
            "{collective}_{lanes}_mbps", "Mbit/s", _BUSY,
            "it is a picture over time; the targets for times are those of multilane-scatter",
        ),
    ),
)  # fmt: skip
