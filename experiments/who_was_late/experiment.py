# SPDX-License-Identifier: BSD-3-Clause
"""Who was late: what of injected delays is attributed to the right rank and call, and its cost.

A program delays random ranks by random times before collectives, in a function for each collective,
and prints for how long.  Of that, `attributed_percent` is what the profile gives as lateness to the
same rank at the call of the same function, in five launches.  What the profile gives beyond it is
`beyond_percent`: other work on the machine makes ranks late, too.

`overhead_percent` is what recording adds to a program that sweeps over a grid with two reductions
after each sweep.  Blocks of eight sweeps call alternately through the library and past it, 600
each.  The ratio is of the times that one block in ten keeps, because what interrupts a block can
only lengthen it; of five launches the median.
"""

from __future__ import annotations

import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.experiment import (
    Estimator,
    Experiment,
    Figure,
    Outcome,
    Row,
    Target,
    constant,
)
from experiments.workspace import LOCAL, Workspace, failing_as_run, rank_count
from lanewise.launch import tuned
from lanewise.plots import Bar, draw_bars
from lanewise.profile.content import Profile
from lanewise.profile.read import load
from lanewise.profile.sources import add_sources
from lanewise.results.quantity import three_digits, time_text

PROGRAM = "lanewise-late-ranks"
LAUNCHES = 5
MOST_RANKS = 4
MARK = "late_to_"

# Seconds by function and rank.
Delays = Mapping[tuple[str, int], float]


def run(workspace: Workspace) -> Outcome:
    """Inject delays and look for them in the profile; then measure what recording costs."""
    ranks = rank_count(MOST_RANKS)
    path = workspace.folder / "profile.json"
    with failing_as_run():
        library = tuned.build_of(LOCAL, os.environ).library(tuned.LIBRARY)
    options = tuned.Options(None, profile=path.resolve())
    variables = {**tuned.variables_for(library, options, {}), "LANEWISE_EVERY_RANK": "1"}
    recorded = replace(workspace, variables=variables)
    injected: list[Delays] = []
    found: list[Delays] = []
    for seed in range(LAUNCHES):
        asked = recorded.ask(PROGRAM, ranks, arguments=("delays", str(seed)), launcher=LOCAL)
        add_sources(path, PROGRAM)
        injected.append(injected_in(asked["injected"]))
        found.append(lateness_in(load(path)))
    costs = [
        recorded.ask(PROGRAM, ranks, arguments=("cost",), launcher=LOCAL) for _ in range(LAUNCHES)
    ]
    shares = [attributed(*pair) for pair in zip(injected, found, strict=True)]
    overheads = [100 * (cost["ratio"] - 1) for cost in costs]
    figures = {
        "attributed_percent": 100 * statistics.median(share for share, _ in shares),
        "beyond_percent": 100 * statistics.median(beyond for _, beyond in shares),
        "overhead_percent": statistics.median(overheads),
    }
    files = draw(workspace, injected[0], found[0], ranks)
    conditions = {"ranks": ranks, "launches": LAUNCHES, "sweep_s": costs[0]["sweep_s"]}
    return Outcome(
        figures, rows(shares, overheads, costs), conditions, [path, *files],
        launches={
            "attributed_percent": [100 * share for share, _ in shares],
            "beyond_percent": [100 * beyond for _, beyond in shares],
            "overhead_percent": overheads,
        },
    )  # fmt: skip


def injected_in(values: Sequence[Mapping[str, Any]]) -> Delays:
    """Return what the program says."""
    return {(one["function"], one["rank"]): one["injected_s"] for one in values}


def lateness_in(profile: Profile) -> Delays:
    """Return the lateness of each rank by the function that it called from."""
    found: dict[tuple[str, int], float] = defaultdict(float)
    for place in profile.places:
        for part in place.ranks:
            function = profile.sites[part.site].function
            # The compiler's name of a C++ function begins with its namespace.
            name = function[function.find(MARK) :].partition("(")[0] if MARK in function else ""
            found[name, part.rank] += part.lateness_s
    return {key: lateness_s for key, lateness_s in found.items() if key[0]}


def attributed(injected: Delays, found: Delays) -> tuple[float, float]:
    """Return the shares of the injected time that was found, and that was found beyond it."""
    total_s = sum(injected.values())
    right_s = sum(min(delay_s, found.get(key, 0.0)) for key, delay_s in injected.items())
    return right_s / total_s, (sum(found.values()) - right_s) / total_s


def rows(
    shares: Sequence[tuple[float, float]],
    overheads: Sequence[float],
    costs: Sequence[Mapping[str, Any]],
) -> list[Row]:
    """Return the lines of the table: each value as the median, least and most of the launches."""
    sweep_s = statistics.median(cost["sweep_s"] for cost in costs)
    calls_ns = [float(cost["call_ns"]) for cost in costs]
    return [
        Row("delay given to its rank and call", "", spread([100 * share for share, _ in shares])),
        Row("lateness beyond it", "", spread([100 * beyond for _, beyond in shares])),
        Row(f"cost, two calls per {time_text(sweep_s)}", "", spread(overheads)),
        Row("cost of a call", "", f"{three_digits(statistics.median(calls_ns))} ns"),
    ]


def spread(percents: Sequence[float]) -> str:
    """Write the median with the least and the most."""
    least, most = three_digits(min(percents)), three_digits(max(percents))
    return f"{three_digits(statistics.median(percents))} % ({least} to {most})"


def draw(workspace: Workspace, injected: Delays, found: Delays, ranks: int) -> list[Path]:
    """Draw the delays of each function, injected and found, a pair of bars for each rank."""
    panels = [
        (
            function.removeprefix(MARK),
            [
                Bar(f"rank {rank}, {kind}", delays.get((function, rank), 0.0), kind)
                for rank in range(ranks)
                for kind, delays in (("injected", injected), ("found", found))
            ],
        )
        for function in sorted({function for function, _ in injected})
    ]
    return workspace.save(draw_bars(panels, time_text), "who-was-late")


_SOURCE = Path(__file__).with_name("late_ranks.cpp")
_DELAYS = "delays in each of four functions"

EXPERIMENT = Experiment(
    name="who-was-late",
    paper="000 §4, beyond",
    summary="what of injected delays a profile gives to the right rank and call, and its cost",
    run=run,
    figures=(
        Figure(
            "attributed_percent", "%",
            Estimator("median over launches of the share of the delay that is found at its place",
                      LAUNCHES, constant(_SOURCE, "rounds"), _DELAYS),
            Target(">=", 95.0),
        ),
        Figure(
            "overhead_percent", "%",
            Estimator("median over launches of the ratio of the times that one block in ten keeps",
                      LAUNCHES, constant(_SOURCE, "pairs"), "pairs of blocks"),
            Target("<=", 1.0),
        ),
        Figure(
            "beyond_percent", "%",
            Estimator("median over launches of the lateness found beyond the delay, in its share",
                      LAUNCHES, constant(_SOURCE, "rounds"), _DELAYS),
            "other work on the machine makes ranks late, too",
        ),
    ),
)  # fmt: skip
