# SPDX-License-Identifier: BSD-3-Clause
"""Show: the outcome of an experiment as a table for people or one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from experiments.experiment import Outcome, Target
from experiments.registry import EXPERIMENTS
from experiments.run import Finished


def print_list(*, as_json: bool) -> None:
    """Print name, paper and summary of every experiment; as JSON, one object on one line."""
    if as_json:
        listed = [{"name": e.name, "paper": e.paper, "summary": e.summary} for e in EXPERIMENTS]
        sys.stdout.write(json.dumps({"experiments": listed}, ensure_ascii=False) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "paper", "what it shows"):
        table.add_column(heading, no_wrap=heading == "name")
    for experiment in EXPERIMENTS:
        table.add_row(experiment.name, experiment.citation, experiment.summary)
    _console().print(table)


def print_json(finished: Finished) -> None:
    """Print the outcome as the one JSON object that ends standard output."""
    sys.stdout.write(json.dumps(as_object(finished), ensure_ascii=False, default=str) + "\n")


def as_object(finished: Finished) -> dict[str, object]:
    """Return the outcome as plain data, under keys that stay the same."""
    experiment, outcome = finished.experiment, finished.outcome
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "figures": {
            key: float(f"{value:.6g}") if math.isfinite(value) else None
            for key, value in outcome.figures.items()
        },
        "targets": {
            target.key: {
                "op": target.op,
                "value": target.value,
                "met": target.met_by(outcome.figures),
            }
            for target in experiment.targets
        },
        "conditions": outcome.conditions,
        "files": [str(path) for path in outcome.files],
    }


def print_outcome(finished: Finished) -> None:
    """Print paper and here side by side, each target, and where the plot is."""
    experiment, outcome = finished.experiment, finished.outcome
    console = _console()
    console.print(f"{experiment.name}: {experiment.summary} ({experiment.citation})\n")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    table.add_column("paper", justify="right")
    table.add_column("here", justify="right")
    for row in outcome.rows:
        table.add_row(row.what, row.paper, row.here)
    console.print(table)
    for target in experiment.targets:
        console.print(target_sentence(target, outcome))
    for note in outcome.notes:
        console.print(note)
    for path in outcome.files:
        if path.suffix == ".png":
            console.print(f"plot: {path}", soft_wrap=True)


def target_sentence(target: Target, outcome: Outcome) -> str:
    """Say whether a target was met: `target speedup >= 3.5: met, 6.1`."""
    verdict = "met" if target.met_by(outcome.figures) else "MISSED"
    value = outcome.figures.get(target.key)
    found = "not measured" if value is None else f"{value:.4g}"
    return f"target {target.key} {target.op} {target.value:g}: {verdict}, {found}"


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)
