# SPDX-License-Identifier: BSD-3-Clause
"""Ruled call: what a call costs that follows a rule of the preloaded library.

A program calls MPI_Bcast; the library decides by its rules and executes a schedule.  Open MPI is
forced to use the same algorithm, and batches of both alternate on two ranks.  The library is also
to cost nothing at sizes without a rule while other sizes have one, with one communicator and with
many.  Launches differ (slow-launches has what is known of it), so there are several, and each
collective counts with its median ratio.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target, constant
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise import __version__
from lanewise.launch import tuned
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

RANKS = 2
LAUNCHES = 11
PROGRAM = "lanewise-ruled-call"
WITHIN = 1.05
RULES = {
    "bcast": "binomial",
    "scatter": "binomial",
    "gather": "binomial",
    "allreduce": "recursive_doubling",
}

Launch = Mapping[str, Any]


def run(workspace: Workspace) -> Outcome:
    """Measure calls with and without a rule, through the library and past it."""
    tuning = workspace.folder / "rules.json"
    tuning.write_text(json.dumps(rules()), encoding="utf-8")
    with failing_as_run():
        library = tuned.build_of(LOCAL, os.environ).library(tuned.LIBRARY)
    variables = tuned.variables_for(library, tuned.Options(tuning.resolve()), {})
    variables["LANEWISE_EVERY_RANK"] = "1"
    ruled = replace(workspace, variables=variables)
    launches = [ruled.ask(PROGRAM, RANKS, launcher=LOCAL) for _ in range(LAUNCHES)]
    return Outcome(
        figures=figures_of(launches),
        rows=_rows(launches),
        conditions={"ranks": RANKS, "launches": launches},
        files=[tuning, *_draw(workspace, launches)],
        launches=figures_by_launch(launches),
    )


def rules() -> dict[str, Any]:
    """Return a tuning file with a rule for calls of 8 bytes of each collective."""
    size = constant(_SOURCE, "ruled_bytes")
    range_ = {"from_bytes": size, "to_bytes": size}
    layout = {
        "lanewise": __version__,
        "created": "",
        "hosts": [0] * RANKS,
        "margin": 0.03,
        "confidence": 0.95,
        "collectives": {
            name: {"rules": [{**range_, "algorithm": algorithm}]}
            for name, algorithm in RULES.items()
        },
    }
    return {
        "schema": "lanewise-tuning",
        "version": 2,
        "mpi": {"family": LOCAL, "library": ""},
        "layouts": [layout],
    }


def worst_ratio(launch: Launch) -> float:
    """Return the worst ratio of the collectives in one launch."""
    return max(float(one["ratio"]) for one in launch["collectives"].values())


def figures_of(launches: Sequence[Launch]) -> dict[str, float]:
    """Return the figures over all launches."""
    names = launches[0]["collectives"]
    medians = [
        statistics.median(float(launch["collectives"][name]["ratio"]) for launch in launches)
        for name in names
    ]
    within = [worst_ratio(launch) <= WITHIN for launch in launches]
    return {
        "ratio_8B": max(medians),
        "fraction_of_launches_within": sum(within) / len(within),
        "unruled_size_ns": statistics.median(each["unruled_ns"]["median"] for each in launches),
        "unruled_ns_64_communicators": statistics.median(
            each["unruled_many_ns"]["median"] for each in launches
        ),
    }


def figures_by_launch(launches: Sequence[Launch]) -> dict[str, list[float]]:
    """Return the same figures as each launch gives them by itself."""
    each = [figures_of([launch]) for launch in launches]
    return {key: [figures[key] for figures in each] for key in each[0]}


def _spread(values: Sequence[float], unit: str = "") -> str:
    low, high = three_digits(min(values)), three_digits(max(values))
    return f"{three_digits(statistics.median(values))}{unit} ({low} to {high})"


def _rows(launches: Sequence[Launch]) -> list[Row]:
    rows = []
    for name, algorithm in RULES.items():
        found = [launch["collectives"][name] for launch in launches]
        ratios = _spread([one["ratio"] for one in found])
        own = time_text(statistics.median(one["mpi_s"] for one in found))
        rows.append(Row(f"{name} {algorithm}, 8 B, ruled / MPI's own of {own}", "", ratios))
    one, several = (
        [launch[key]["median"] for launch in launches] for key in ("unruled_ns", "unruled_many_ns")
    )
    many = launches[0]["communicators"]
    rows.append(Row("added to a call of an unruled size", "", _spread(one, " ns")))
    rows.append(Row(f"added, {many} communicators in turn", "", _spread(several, " ns")))
    return rows


def _draw(workspace: Workspace, launches: Sequence[Launch]) -> list[Path]:
    panels = []
    for name, algorithm in RULES.items():
        found = [launch["collectives"][name] for launch in launches]
        own_s, ruled_s = (
            statistics.median(float(one[key]) for one in found) for key in ("mpi_s", "ruled_s")
        )
        bars = [Bar("Open MPI's own", own_s, "mpi"), Bar("by its rule", ruled_s, "ours")]
        panels.append((f"{name} {algorithm}, 8 B", bars))
    return workspace.save(draw_bars(panels, time_text), "ruled-call")


_SOURCE = Path(__file__).with_name("ruled_call.cpp")
_ROUNDS = constant(_SOURCE, "rounds")
_RATIO = Estimator(
    "median over launches of the median ratio of a launch, for the worst collective", LAUNCHES,
    _ROUNDS, "rounds",
)  # fmt: skip
_WITHIN = Estimator(
    f"launches in which the worst collective has a ratio of at most {WITHIN}", LAUNCHES, _ROUNDS,
    "rounds",
)  # fmt: skip
_ADDED = Estimator(
    "median over launches of the median time through the library minus that past it", LAUNCHES,
    constant(_SOURCE, "unruled_rounds"),
    f"rounds of {constant(_SOURCE, 'unruled_calls')} calls each way",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="ruled-call",
    paper="000 §4, beyond",
    summary="a call that follows a rule against the MPI's own same algorithm",
    run=run,
    figures=(
        Figure("ratio_8B", "ratio", _RATIO, Target("<=", WITHIN)),
        Figure("fraction_of_launches_within", "ratio", _WITHIN, Target(">=", 0.9)),
        Figure("unruled_size_ns", "ns", _ADDED, Target("<=", 15.0)),
        Figure("unruled_ns_64_communicators", "ns", _ADDED, Target("<=", 15.0)),
    ),
)
