# SPDX-License-Identifier: BSD-3-Clause
"""Tuned overhead: the cost of liblanewise_tuned.so where it has no rule.

A library under every collective call of a program must not be noticeable where it does nothing.
One program calls a barrier of one rank, which takes a few nanoseconds, alternately through the
library and past it; the difference is the cost of a call.  An allreduce of 1 KiB between two ranks
shows that the MPI's default keeps its time.
"""

from __future__ import annotations

import json
import os
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
PROGRAM = "lanewise-tuned-overhead"


def run(workspace: Workspace) -> Outcome:
    """Measure calls through the library, which has no rule for them, and past it."""
    tuning = workspace.folder / "no-rules.json"
    tuning.write_text(json.dumps(no_rules()), encoding="utf-8")
    with failing_as_run():
        library = tuned.build_of(LOCAL, os.environ).library(tuned.LIBRARY)
    variables = tuned.variables_for(library, tuned.Options(tuning.resolve()), {})
    variables["LANEWISE_EVERY_RANK"] = "1"
    found = replace(workspace, variables=variables).ask(PROGRAM, RANKS, launcher=LOCAL)
    figures = {
        "ns_per_call": float(found["ns_per_call"]["median"]),
        "default_kept_ratio": float(found["ratio"]["median"]),
        "ns_per_call_many_communicators": float(found["ns_per_call_many"]["median"]),
    }
    return Outcome(
        figures=figures,
        rows=_rows(found),
        conditions={"ranks": RANKS, "measured": found},
        files=[tuning, *_draw(workspace, found)],
    )


def no_rules() -> dict[str, Any]:
    """Return a tuning file that leaves every collective to the MPI."""
    return {
        "schema": "lanewise-tuning",
        "version": 1,
        "lanewise": __version__,
        "created": "",
        "mpi": {"family": LOCAL, "library": ""},
        "ranks": RANKS,
        "layout": [RANKS],
        "margin": 0.03,
        "confidence": 0.95,
        "collectives": {},
    }


def _interval(values: dict[str, float], unit: str) -> str:
    bounds = f"{three_digits(values['low'])} to {three_digits(values['high'])}"
    return f"{three_digits(values['median'])}{unit} ({bounds})"


def _rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row("added to a call", "", _interval(found["ns_per_call"], " ns")),
        Row(
            f"added, {found['communicators']} communicators in turn",
            "",
            _interval(found["ns_per_call_many"], " ns"),
        ),
        Row("the call itself, past the library", "", f"{three_digits(found['direct_ns'])} ns"),
        Row("allreduce of 1 KiB, through / past", "", _interval(found["ratio"], "")),
    ]


def _draw(workspace: Workspace, found: dict[str, Any]) -> list[Path]:
    direct_s = 1e-9 * found["direct_ns"]
    allreduce_s = found["allreduce_s"]
    panels = [
        (
            "Barrier of one rank",
            [
                Bar("past the library", direct_s, "past"),
                Bar("through it", direct_s + 1e-9 * found["ns_per_call"]["median"], "through"),
            ],
        ),
        (
            f"Allreduce of 1 KiB, {found['ranks']} ranks",
            [
                Bar("past the library", allreduce_s, "past"),
                Bar("through it", allreduce_s * found["ratio"]["median"], "through"),
            ],
        ),
    ]
    return workspace.save(draw_bars(panels, time_text), "tuned-overhead")


_SOURCE = Path(__file__).with_name("tuned_overhead.cpp")
_ROUNDS = constant(_SOURCE, "rounds")
_CALL = Estimator(
    "median over rounds of the time through the library minus that past it", 1, _ROUNDS,
    f"rounds of {constant(_SOURCE, 'cheap_calls')} calls each way",
)  # fmt: skip
_KEPT = Estimator(
    "median over rounds of the time through the library over that past it", 1, _ROUNDS,
    f"rounds of {constant(_SOURCE, 'real_calls')} calls each way",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="tuned-overhead",
    paper="000 §4, beyond",
    summary="what a call costs that the preloaded library has no rule for",
    run=run,
    figures=(
        Figure("ns_per_call", "ns", _CALL, Target("<=", 50.0)),
        Figure("default_kept_ratio", "ratio", _KEPT, Target("<=", 1.01)),
        Figure(
            "ns_per_call_many_communicators", "ns", _CALL,
            "the target is for one communicator; this shows that many cost little more",
        ),
    ),
)  # fmt: skip
