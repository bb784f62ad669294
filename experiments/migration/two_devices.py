# SPDX-License-Identifier: BSD-3-Clause
"""Two-device failover: queue pairs carried by two devices of one port each, under random cuts.

Ports of either device are pulled at either end at random moments.  Messages are sends with and
without immediate data, and writes with immediate data; they are numbered and checksummed, and
atomics are counted.  Beside them each end writes a number into a word of its peer, which sets it to
0, and reads it until it is 0: a write that came twice would be seen.  Traffic goes on until enough
messages have been exchanged.  Then the same programs run without cuts, protected and not.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from functools import partial

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.migration import ended
from experiments.migration.two_ports import (
    PORTS,
    Said,
    TrafficEndedError,
    cut,
    exchange,
    faults_of,
    two_hosts,
)
from experiments.workspace import Workspace
from lanewise.plots import Strip, draw_strips
from lanewise.results.intervals import median_interval
from lanewise.results.quantity import time_tick
from lanewise.testbed.bed import Bed

CUTS = 500
CUTS_EACH = 100  # in one run of the programs
MESSAGES = 1_000_000
TRAFFIC_S = 40.0  # without cuts, if there are too few messages
PAIRS = 6  # each way comes first as often; fewer have no interval
SECONDS = 1.0
SEED = 24
DEVICES = ("--devices", ",".join(PORTS))
WAYS: dict[str, Sequence[str] | None] = {"protected": (), "plain": None}
WINDOWS = {"latency": 1, "rate": 8}
LIMIT_RUNS = 6


def run(workspace: Workspace, cuts: int = CUTS, messages: int = MESSAGES) -> Outcome:
    """Pull cables at random, then measure the cost without faults."""
    conditions: dict[str, object] = {"cuts": cuts, "seed": SEED, "window": 8, "message_bytes": 4096}
    with two_hosts() as raised:
        try:
            runs = _all_cuts(workspace, raised, cuts, messages)
        except TrafficEndedError as error:
            return ended.outcome(workspace, "two-device-failover", conditions, str(error))
        costs: dict[str, float] = {}
        notes = []
        try:
            costs = costs_of({name: _ratios(raised, size) for name, size in WINDOWS.items()})
        except TrafficEndedError as error:
            notes.append(f"a connection ended without cuts: {error}")
    times_ms = sorted(
        ns / 1e6
        for said in runs for side in (said.caller[0], said.listener[0])
        for ns in side["resumed_ns"] if ns >= 0
    )  # fmt: skip
    faults = {key: sum(faults_of(said)[key] for said in runs) for key in faults_of(runs[0])}
    figures = {
        **faults,
        ended.ENDED: float(len(notes)),
        "messages": float(_messages(runs)),
        "cuts": float(len(times_ms)),
        "p50_ms": statistics.median(times_ms),
        "p99_ms": times_ms[math.ceil(0.99 * len(times_ms)) - 1],
        "max_ms": times_ms[-1],
        **costs,
    }
    return Outcome(
        figures=figures,
        rows=[
            Row("lost, twice", "none", f"{figures['lost']:.0f}, {figures['duplicated']:.0f}"),
            Row("messages", "", f"{figures['messages']:.0f}"),
            Row("cut to traffic, median", "", f"{figures['p50_ms']:.2f} ms"),
            Row("99 of 100", "", f"{figures['p99_ms']:.2f} ms"),
            Row("time of a message without faults", "", _cost_text(figures, "latency")),
            Row("time of many messages", "", _cost_text(figures, "rate")),
        ],
        conditions=conditions,
        files=workspace.save(
            draw_strips(
                "From a pulled cable to the other device",
                [Strip("cuts", [ms / 1e3 for ms in times_ms])], time_tick, scale="log",
            ),
            "two-device-failover",
        ),
        notes=notes,
    )  # fmt: skip


def _all_cuts(workspace: Workspace, raised: Bed, cuts: int, messages: int) -> list[Said]:
    """Pull all cables, some in each run of the programs, until there are enough messages."""
    runs: list[Said] = []
    drawn = random.Random(SEED)
    each = min(CUTS_EACH, cuts)
    for number in range(cuts // each):
        workspace.say(f"cuts {number * each + 1} to {(number + 1) * each} of {cuts}")
        runs.append(_under_cuts(raised, each, drawn))
        for twice in (*runs[-1].caller[0]["twice"], *runs[-1].listener[0]["twice"]):
            workspace.say(f"arrived twice: {twice}")
    while _messages(runs) < messages and len(runs) < cuts // each + LIMIT_RUNS:
        workspace.say(f"{_messages(runs)} of {messages} messages")
        runs.append(_under_cuts(raised, 0, drawn))
    return runs


def _under_cuts(raised: Bed, cuts: int, drawn: random.Random) -> Said:
    """Exchange messages while that many cables are pulled, each at an end and device drawn."""
    sides: dict[str, list[str]] = {"at_listener": [], "at_caller": []}
    at_s = 0.3
    for _ in range(cuts):
        at_s += drawn.uniform(0.15, 0.45)
        for_s = drawn.uniform(0.01, 0.1)
        sides[drawn.choice(list(sides))] += cut(drawn.choice(PORTS), at_s, for_s)
        at_s += for_s
    seconds = at_s + 1 if cuts else TRAFFIC_S
    words = ["--seconds", f"{seconds:.3f}", "--mixed", "--resume-timeout-s", "5"]
    protect = ("--policy", "stay")
    return exchange(raised, words, protect=protect, device=DEVICES, **sides)


def _messages(runs: Sequence[Said]) -> int:
    return sum(said.caller[0]["sent"] + said.listener[0]["sent"] for said in runs)


def _ratios(raised: Bed, window: int) -> list[float]:
    """Return how much longer a message takes under protection, for each pair of runs."""
    words = ["--seconds", str(SECONDS), "--window", str(window)]
    found = []
    for pair in range(PAIRS):
        # The order alternates, so that what comes second is as often protected as not.
        order = WAYS if pair % 2 else dict(reversed(WAYS.items()))
        sent = {
            way: _messages([exchange(raised, words, device=DEVICES, protect=protect)])
            for way, protect in order.items()
        }
        found.append(sent["plain"] / sent["protected"])
    return found


def costs_of(ratios: Mapping[str, list[float]]) -> dict[str, float]:
    """Return by how many percent a message takes longer, with the ends of the intervals."""
    figures = {}
    for name, found in ratios.items():
        # Of logarithms: of two times that are as much longer as shorter, the middle is no change.
        middle = math.exp(statistics.median(map(math.log, found)))
        ends = (middle, *median_interval(found))
        for ending, ratio in zip(("", "_low", "_high"), ends, strict=True):
            figures[f"{name}_cost_percent{ending}"] = 100 * (ratio - 1)
    return figures


def _cost_text(figures: Mapping[str, float], name: str) -> str:
    if f"{name}_cost_percent" not in figures:
        return "not measured: a connection ended"
    low, middle, high = (figures[f"{name}_cost_percent{end}"] for end in ("_low", "", "_high"))
    return f"{middle:+.0f} % ({low:+.0f} to {high:+.0f} %)"


_TIMES = "of the times from pulling a cable to a confirmed message that was posted afterwards"
_COUNT = Estimator("number of messages", 1, CUTS, "cuts")
_PAIRED = Estimator(
    "median over pairs of runs, protected and not, of changing order, with its interval",
    PAIRS,
    1,
    "pair of runs of 1 s",
)
_TOLD = "it is told; the target is that nothing is lost"

EXPERIMENT = Experiment(
    name="two-device-failover",
    paper="003 §4.2.2",
    summary="500 pulled cables on two devices of one port: all of it arrives once",
    run=run,
    figures=(
        ended.figure(CUTS),
        Figure("lost", "messages", _COUNT, Target("<=", 0.0)),
        Figure("duplicated", "messages", _COUNT, Target("<=", 0.0)),
        Figure("corrupted", "messages", _COUNT, Target("<=", 0.0)),
        Figure("atomics_wrong", "atomics", _COUNT, Target("<=", 0.0)),
        Figure("messages", "messages", _COUNT, Target(">=", float(MESSAGES))),
        Figure(
            "cuts", "cuts", Estimator("cuts that a message followed", 1, CUTS, "cuts"),
            "those at the end of a run may have none",
        ),
        Figure("p50_ms", "ms", Estimator(f"median {_TIMES}", 1, CUTS, "cuts"), _TOLD),
        Figure("p99_ms", "ms", Estimator(f"99th percentile {_TIMES}", 1, CUTS, "cuts"), _TOLD),
        Figure("max_ms", "ms", Estimator(f"largest {_TIMES}", 1, CUTS, "cuts"), _TOLD),
        Figure("latency_cost_percent", "%", _PAIRED, _TOLD),
        Figure("rate_cost_percent", "%", _PAIRED, _TOLD),
    ),
    quick=Quick(partial(run, cuts=30, messages=10_000), takes_s=60.0),
)  # fmt: skip
