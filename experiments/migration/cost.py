# SPDX-License-Identifier: BSD-3-Clause
"""Migration cost: what protection costs where nothing fails.

Automatic path migration (2007), section 4.3.  The same pair of programs runs protected and
unprotected in many interleaved pairs of runs, with one message in flight for latency and many for
rate.  A figure is the median, over the pairs, of the relative loss of messages, with its interval.
There are as many pairs as make the intervals narrow enough to see a per cent, and it is their upper
ends that are judged.

An interval that is looked at until it is narrow covers the truth less often than its confidence
says (P. Armitage, C. K. McPherson, B. C. Rowe: Repeated Significance Tests on Accumulating Data,
Journal of the Royal Statistical Society A 132, 1969).  So each look has the confidence at which the
intervals of all that are planned cover it together as often as one should: Bonferroni's correction
(O. J. Dunn: Multiple Comparisons Among Means, Journal of the American Statistical Association 56,
1961).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.migration.two_ports import exchange, two_hosts
from experiments.workspace import Workspace
from lanewise.plots import Strip, draw_strips
from lanewise.results.intervals import CONFIDENCE, median_interval
from lanewise.testbed.bed import Bed

# After each of so many pairs the intervals are looked at.
PAIRS, PAIRS_MAX = 16, 256
LOOKS = PAIRS_MAX // PAIRS
HALF_WIDTH_PERCENT = 1.0
CONFIDENCE_OF_A_LOOK = 1 - (1 - CONFIDENCE) / LOOKS
SECONDS = 1.0
WAYS: dict[str, Sequence[str] | None] = {"protected": (), "bare": None}
WINDOWS = {"latency": 1, "rate": 8}

Losses = Mapping[str, list[float]]


def run(workspace: Workspace) -> Outcome:
    """Run pairs of protected and unprotected programs."""
    losses: Losses = {name: [] for name in WINDOWS}
    with two_hosts() as raised:
        for pair in range(PAIRS_MAX):
            if pair > 0 and pair % PAIRS == 0 and is_narrow(losses):
                break
            workspace.say(f"pair {pair + 1}, of {PAIRS_MAX} at most")
            for name, window in WINDOWS.items():
                # The order alternates, so that a drift of the machine affects both.
                order = WAYS if pair % 2 else dict(reversed(WAYS.items()))
                messages = {way: _messages(raised, window, order[way]) for way in order}
                losses[name].append(100 * (1 - messages["protected"] / messages["bare"]))
    figures = figures_of(losses)
    strips = [Strip(name, values) for name, values in losses.items()]
    title = "Messages that protection loses, in %, by pair"
    return Outcome(
        figures=figures,
        rows=[
            Row(
                name, "negligible",
                f"{figures[f'{name}_overhead_percent']:.2f} % "
                f"({figures[f'{name}_overhead_percent_low']:.2f} to "
                f"{figures[f'{name}_overhead_percent_high']:.2f} %)",
            )
            for name in WINDOWS
        ],
        conditions={
            "pairs": len(losses["rate"]), "looks_planned": LOOKS, "seconds": SECONDS,
            "message_bytes": 4096,
        },
        files=workspace.save(
            draw_strips(title, strips, lambda value: f"{value:g} %"), "migration-cost"
        ),
    )  # fmt: skip


def figures_of(losses: Losses) -> dict[str, float]:
    """Return the medians with their intervals, and the worst of all."""
    figures = {f"{name}_overhead_percent": statistics.median(losses[name]) for name in losses}
    figures["overhead_without_faults_percent"] = max(figures.values())
    for name, values in losses.items():
        low, high = interval_of_a_look(values)
        figures[f"{name}_overhead_percent_low"] = low
        figures[f"{name}_overhead_percent_high"] = high
    figures["overhead_upper_percent"] = max(
        figures[f"{name}_overhead_percent_high"] for name in losses
    )
    figures["half_width_percent"] = half_width_percent(losses)
    figures["pairs"] = float(max(map(len, losses.values())))
    return figures


def half_width_percent(losses: Losses) -> float:
    """Return half of the width of the wider interval."""
    return max((high - low) / 2 for low, high in map(interval_of_a_look, losses.values()))


def interval_of_a_look(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the median, at the confidence that each of the looks has."""
    return median_interval(values, CONFIDENCE_OF_A_LOOK)


def is_narrow(losses: Losses) -> bool:
    """Tell whether the intervals are narrow enough."""
    return half_width_percent(losses) <= HALF_WIDTH_PERCENT


def _messages(raised: Bed, window: int, protection: Sequence[str] | None) -> float:
    words = ["--seconds", str(SECONDS), "--window", str(window)]
    said = exchange(raised, words, protect=protection)
    return float(said.caller[0]["sent"] + said.listener[0]["sent"])


_PAIRS = Estimator(
    "median over pairs of the share of messages that protection loses, at the first of "
    f"{LOOKS} looks at which both intervals are narrow, which have a confidence of "
    f"{100 * CONFIDENCE_OF_A_LOOK:.1f} % each",
    1, PAIRS_MAX, f"pairs at most of runs of {SECONDS:g} s",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="migration-cost",
    paper="003 §4.3",
    summary="what protection costs where nothing fails",
    run=run,
    figures=(
        Figure(
            "overhead_upper_percent", "%",
            replace(_PAIRS, text=f"the larger upper end of two intervals: {_PAIRS.text}"),
            Target("<=", 2.0),
        ),
        Figure(
            "half_width_percent", "%",
            replace(_PAIRS, text=f"half of the wider of two intervals: {_PAIRS.text}"),
            Target("<=", HALF_WIDTH_PERCENT),
        ),
        Figure(
            "overhead_without_faults_percent", "%",
            replace(_PAIRS, text=f"the larger of the two figures below: {_PAIRS.text}"),
            Target("<=", 1.0),
        ),
        Figure(
            "{window}_overhead_percent", "%",
            replace(_PAIRS, text=f"{_PAIRS.text}; with its interval"),
            "the target is for the larger of latency and rate",
        ),
        Figure(
            "pairs", "pairs",
            Estimator("pairs until both intervals were narrow", 1, PAIRS_MAX, "pairs at most"),
            "there are as many as the width of the intervals needs",
        ),
    ),
)  # fmt: skip
