# SPDX-License-Identifier: BSD-3-Clause
"""Gate: how often `lanewise gate` is wrong about identical programs, and whether it finds 10 %.

False alarms are counted in 1000 comparisons of identical launches.  Nine in ten take consecutive
launches of `launches.json`, which were recorded on a busy machine, the others launches made now;
each comparison deals them to two sides at random, as the gate does, and takes all looks.  What the
recorded ones give follows from the code alone, since they are always dealt alike; the fresh ones
are judged by themselves, by how many alarms a rate of 1 % allows in so many.

What is found is counted with a real slowdown: a preloaded library waits in one operation for 10 %
of the time that its last launches without the wait took.  Launches with and without it are
interleaved, as in the gate, and a gate begins at each of their blocks once; they are made once as
the machine is, and once with a busy loop beside them.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Plot

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.native import compiled
from experiments.workspace import LOCAL, Workspace
from lanewise.results import gate_reference
from lanewise.results.gate import Launches, PointName, Rule, judge
from lanewise.results.gate_launches import Times, joined, name_of
from lanewise.results.gate_looks import order, seen_enough, shares_of

RANKS = 2
OPERATIONS = ("pingpong", "bcast", "allreduce")
SLOWED = "allreduce"
SIZES_BYTES = (8, 1024, 65536)
SLOWDOWN = 0.10
LOOKS = (10, 20, 40)
RULES = [Rule(gate=0.05, looks=len(LOOKS), share=share) for share in shares_of(LOOKS)]
FIND = 0.10
FALSE_ALARM_RATE = 0.01
# With this probability at most a gate of just this rate is found to have more alarms than allowed.
FALSE_ALARMS_BEYOND = 0.05
COMPARISONS = 1000
FRESH = 100
FRESH_LAUNCHES = 80
# Blocks of four launches with and without the slowdown; a gate begins at each of them.
BLOCKS = 60
# The wait is 10 % of the mean of so many launches without it.
RECENT = 4
RECORDED = Path(__file__).with_name("launches.json")
SEED = 1


def run(workspace: Workspace) -> Outcome:
    """Count false alarms and found slowdowns."""
    library = build(workspace.folder)
    recorded = recorded_launches()
    fresh = [launch(workspace, library, {}) for _ in range(FRESH_LAUNCHES)]
    source = random.Random(SEED)
    alarms = [
        sum(false_alarm(launches, source) for _ in range(count))
        for launches, count in ((recorded, COMPARISONS - FRESH), (fresh, FRESH))
    ]
    loads = [os.getloadavg()[0]]
    turns = injected(workspace, library)
    quiet = found_share(turns)
    loads.append(os.getloadavg()[0])
    with busy_loop():
        busy = found_share(injected(workspace, library))
        loads.append(os.getloadavg()[0])
    figures = {
        **figures_of_alarms(*alarms),
        "detection_percent": quiet[0],
        "detection_percent_busy": busy[0],
        "launches_mean": quiet[1],
        "launches_mean_busy": busy[1],
    }
    return Outcome(
        figures=figures,
        rows=rows_of(figures),
        conditions={
            "ranks": RANKS, "slowed": SLOWED, "comparisons": COMPARISONS, "gates": BLOCKS,
            "blocks": BLOCKS, "recorded_launches": len(recorded), "looks": LOOKS, "load": loads,
        },
        files=workspace.save(draw(recorded, turns), "gate"),
    )  # fmt: skip


def figures_of_alarms(recorded: int, fresh: int) -> dict[str, float]:
    """Return the shares of the comparisons of identical launches that raised an alarm."""
    return {
        "false_alarm_percent": 100 * (recorded + fresh) / COMPARISONS,
        "false_alarm_percent_recorded": 100 * recorded / (COMPARISONS - FRESH),
        "false_alarm_percent_fresh": 100 * fresh / FRESH,
    }


def allowed(comparisons: int) -> int:
    """Return how many alarms so many comparisons may raise, by the binomial distribution."""
    count = 0
    within = (1 - FALSE_ALARM_RATE) ** comparisons
    while 1 - within > FALSE_ALARMS_BEYOND:
        count += 1
        others = comparisons - count
        within += (
            math.comb(comparisons, count)
            * FALSE_ALARM_RATE**count
            * (1 - FALSE_ALARM_RATE) ** others
        )
    return count


def build(folder: Path) -> Path:
    """Compile the library that is preloaded; RunError where that fails."""
    library = folder.resolve() / "libslow.so"
    compiler = shutil.which("mpicc.openmpi") or "mpicc"
    source = Path(__file__).with_name("slow.c")
    return compiled(compiler, source, library, "-O2", "-shared", "-fPIC")


def recorded_launches() -> list[Times]:
    """Return the launches that were recorded."""
    values = json.loads(RECORDED.read_text(encoding="utf-8"))
    names = [PointName(operation, size) for operation, size in values["points"]]
    return [
        {name: 1e-9 * median_ns for name, median_ns in zip(names, medians_ns, strict=True)}
        for medians_ns in values["medians_ns"]
    ]


def launch(workspace: Workspace, library: Path, waits_ns: dict[int, float]) -> Times:
    """Launch once, with the library preloaded that waits so long at each size."""
    waits = " ".join(f"{size}:{waits_ns.get(size, 0):.1f}" for size in SIZES_BYTES)
    variables = {"LD_PRELOAD": str(library), "LANEWISE_SLOW": f"{SLOWED} {waits}"}
    sizes = ",".join(map(str, SIZES_BYTES))
    words = [gate_reference.OPERATION, *OPERATIONS, "--sizes", sizes, "--time-limit", "0.1"]
    samples = replace(workspace, variables=variables).measure(
        "launch", words, RANKS, launcher=LOCAL
    )
    return {name_of(point): point.median_s for point in samples.points}


def dealt(launches: Sequence[Times], turns: Iterator[tuple[int, bool]]) -> Launches:
    """Return launches dealt to both sides, interleaved."""
    sides: tuple[list[Times], list[Times]] = ([], [])
    blocks: tuple[list[int], list[int]] = ([], [])
    for times, (block, judged) in zip(launches, turns, strict=False):
        sides[judged].append(times)
        blocks[judged].append(block)
    return joined(sides[0], sides[1], [*blocks[0], *blocks[1]])[0]


def false_alarm(launches: Sequence[Times], source: random.Random) -> bool:
    """Tell whether any look at identical launches, dealt at random, raises an alarm."""
    first = source.randrange(len(launches) - 2 * LOOKS[-1] + 1)
    turns = list(itertools.islice(order(source.getrandbits(32)), 2 * LOOKS[-1]))
    return any(
        judge(
            dealt(launches[first : first + 2 * count], iter(turns[: 2 * count])),
            rule,
            with_least_visible=False,
        ).alarms
        for count, rule in zip(LOOKS, RULES, strict=True)
    )


Turn = tuple[int, bool, Times]


def injected(workspace: Workspace, library: Path) -> list[Turn]:
    """Interleave launches without and with the slowdown of one operation."""
    recent = [launch(workspace, library, {}) for _ in range(RECENT)]
    found = []
    for block, slowed in itertools.islice(order(SEED), 4 * BLOCKS):
        waits_ns = {
            size: SLOWDOWN * 1e9 * mean([times[PointName(SLOWED, size)] for times in recent])
            for size in SIZES_BYTES
        }
        times = launch(workspace, library, waits_ns if slowed else {})
        if not slowed:
            recent = [*recent[1:], times]
        found.append((block, slowed, times))
    return found


def mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def found_share(turns: Sequence[Turn]) -> tuple[float, float]:
    """Return in how many per cent of the gates the slowdown is found, and their mean launches."""
    outcomes = [one_gate(turns, first) for first in range(BLOCKS)]
    found = sum(alarm for alarm, _ in outcomes)
    return 100 * found / BLOCKS, sum(count for _, count in outcomes) / BLOCKS


def one_gate(turns: Sequence[Turn], first: int) -> tuple[bool, int]:
    """Run the gate on launches from block `first`; the last block is followed by the first."""
    ordered = [*turns[4 * first :], *turns[: 4 * first]]
    for number, (count, rule) in enumerate(zip(LOOKS, RULES, strict=True), start=1):
        taken = ordered[: 2 * count]
        launches = dealt(
            [times for _, _, times in taken], iter([(block, judged) for block, judged, _ in taken])
        )
        verdict = replace(judge(launches, rule), look=number)
        if seen_enough(verdict, FIND):
            break
    return any(alarm.operation == SLOWED for alarm in verdict.alarms), count


@contextmanager
def busy_loop() -> Iterator[None]:
    """Keep one core busy meanwhile."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def rows_of(figures: dict[str, float]) -> list[Row]:
    """Return the rows of the table."""
    names = {
        "false_alarm_percent_recorded": f"alarms in {COMPARISONS - FRESH} comparisons, recorded",
        "false_alarm_percent_fresh": f"alarms in {FRESH} comparisons, fresh launches",
        "detection_percent": f"{SLOWED} 10 % slower, found in {BLOCKS} gates",
        "detection_percent_busy": "the same beside a busy loop",
    }
    rows = [Row(text, "", f"{figures[key]:.1f} %") for key, text in names.items()]
    for key, text in (("launches_mean", ""), ("launches_mean_busy", ", busy")):
        rows.append(Row(f"launches of each side, mean{text}", "", f"{figures[key]:.1f}"))
    return rows


def draw(recorded: Sequence[Times], launched: Sequence[Turn]) -> Plot:
    """Draw the recorded launches, and those with and without the slowdown over their reference."""
    figure = Plot(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    size = SIZES_BYTES[0]
    for operation in OPERATIONS:
        name = PointName(operation, size)
        left.plot([1e6 * times[name] for times in recorded], ".", label=operation)
    left.set_title(f"recorded launches, {size} B", fontsize="medium")
    left.set_xlabel("launch")
    left.set_ylabel("median of a launch in µs")
    left.legend()
    reference, name = PointName(gate_reference.OPERATION, size), PointName(SLOWED, size)
    for slowed, label in ((False, "as it is"), (True, f"{100 * SLOWDOWN:.0f} % slower")):
        taken = [times for _, judged, times in launched if judged == slowed]
        places = [[1e6 * times[which] for times in taken] for which in (reference, name)]
        right.plot(*places, ".", label=label)
    right.set_title(f"launches of this run, {size} B", fontsize="medium")
    right.set_xlabel(f"{gate_reference.OPERATION} in µs")
    right.set_ylabel(f"{SLOWED} in µs")
    right.legend(title=SLOWED)
    return figure


_ALARMS = "share of comparisons of identical launches that raise an alarm"
_FOUND = "share of gates that find the slowdown in its operation"
_LAUNCHES = "mean over gates of the launches of each side"
_BY_CODE = "they are dealt alike in every run; the targets are for fresh launches and for all"
_ADAPTS = "the gate takes as many launches as it needs"

_GATES_FOUND = Estimator(_FOUND, 1, BLOCKS, "gates, one from each block")
_GATES_MADE = Estimator(_LAUNCHES, 1, BLOCKS, "gates, one from each block")

EXPERIMENT = Experiment(
    name="gate",
    paper="000 §3, beyond",
    summary="how often the gate is wrong about identical programs, and whether it finds 10 %",
    run=run,
    figures=(
        Figure(
            "false_alarm_percent", "%",
            Estimator(_ALARMS, 1, COMPARISONS, "comparisons"),
            Target("<=", 100 * FALSE_ALARM_RATE),
        ),
        Figure(
            "false_alarm_percent_recorded", "%",
            Estimator(f"{_ALARMS}, which the code alone decides", 1, COMPARISONS - FRESH,
                      "comparisons of recorded launches"),
            _BY_CODE,
        ),
        Figure(
            "false_alarm_percent_fresh", "%",
            Estimator(_ALARMS, 1, FRESH, f"comparisons of {FRESH_LAUNCHES} launches"),
            Target("<=", 100 * allowed(FRESH) / FRESH),
        ),
        Figure("detection_percent", "%", _GATES_FOUND, Target(">=", 99.0)),
        Figure("detection_percent_busy", "%", _GATES_FOUND, Target(">=", 99.0)),
        Figure("launches_mean", "launches", _GATES_MADE, _ADAPTS),
        Figure("launches_mean_busy", "launches", _GATES_MADE, _ADAPTS),
    ),
)  # fmt: skip
