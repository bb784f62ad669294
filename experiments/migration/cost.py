# SPDX-License-Identifier: BSD-3-Clause
"""Migration cost: what protection costs where nothing fails.

Automatic path migration (2007), section 4.3.  The same pair of programs runs protected and
unprotected in many interleaved pairs of runs, with one message in flight for latency and many for
rate.  The figure is the median, over the pairs, of the relative loss of messages.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.migration.two_ports import exchange, two_hosts
from experiments.workspace import Workspace
from lanewise.plots import Strip, draw_strips
from lanewise.testbed.bed import Bed

PAIRS = 16
SECONDS = 1.0
WAYS: dict[str, Sequence[str] | None] = {"protected": (), "bare": None}
WINDOWS = {"latency": 1, "rate": 8}


def run(workspace: Workspace) -> Outcome:
    """Run pairs of protected and unprotected programs."""
    losses: dict[str, list[float]] = {name: [] for name in WINDOWS}
    with two_hosts() as raised:
        for pair in range(PAIRS):
            workspace.say(f"pair {pair + 1} of {PAIRS}")
            for name, window in WINDOWS.items():
                # The order alternates, so that a drift of the machine affects both.
                order = WAYS if pair % 2 else dict(reversed(WAYS.items()))
                messages = {way: _messages(raised, window, order[way]) for way in order}
                losses[name].append(100 * (1 - messages["protected"] / messages["bare"]))
    figures = {f"{name}_overhead_percent": statistics.median(losses[name]) for name in WINDOWS}
    figures["overhead_without_faults_percent"] = max(figures.values())
    for name in WINDOWS:
        low, _, high = statistics.quantiles(losses[name], n=4)
        figures[f"{name}_overhead_percent_low"] = low
        figures[f"{name}_overhead_percent_high"] = high
    strips = [Strip(name, values) for name, values in losses.items()]
    title = "Percent fewer messages under protection, each pair of runs"
    return Outcome(
        figures=figures,
        rows=[
            Row(
                name, "negligible",
                f"{figures[f'{name}_overhead_percent']:.2f} % (quartiles "
                f"{figures[f'{name}_overhead_percent_low']:.2f} and "
                f"{figures[f'{name}_overhead_percent_high']:.2f} %)",
            )
            for name in WINDOWS
        ],
        conditions={"pairs": PAIRS, "seconds": SECONDS, "message_bytes": 4096},
        files=workspace.save(
            draw_strips(title, strips, lambda value: f"{value:g} %"), "migration-cost"
        ),
        launches={
            "overhead_without_faults_percent": list(map(max, zip(*losses.values(), strict=True)))
        },
    )  # fmt: skip


def _messages(raised: Bed, window: int, protection: Sequence[str] | None) -> float:
    words = ["--seconds", str(SECONDS), "--window", str(window)]
    said = exchange(raised, words, protect=protection)
    return float(said.caller[0]["sent"] + said.listener[0]["sent"])


_PAIRS = Estimator(
    "median over pairs of the share of messages that is lost by protection",
    PAIRS, 1, f"pair of runs of {SECONDS:g} s",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="migration-cost",
    paper="003 §4.3",
    summary="what protection costs where nothing fails",
    run=run,
    figures=(
        Figure(
            "overhead_without_faults_percent", "%",
            replace(_PAIRS, text=f"the larger of the two figures below: {_PAIRS.text}"),
            Target("<=", 1.0),
        ),
        Figure(
            "{window}_overhead_percent", "%",
            replace(_PAIRS, text=f"{_PAIRS.text}, with its quartiles"),
            "the target is for the larger of latency and rate",
        ),
    ),
)  # fmt: skip
