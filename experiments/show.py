# SPDX-License-Identifier: BSD-3-Clause
"""Show: the outcome of an experiment as a table for people or one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from experiments import results
from experiments.experiment import Estimator, Experiment, Figure
from experiments.registry import EXPERIMENTS
from experiments.results import six_digits
from experiments.run import Finished, Judged


def print_list(*, as_json: bool) -> None:
    """Print name, paper and summary of every experiment; as JSON, one object on one line.

    The object also has the figures of each, with how they are estimated and judged.
    """
    if as_json:
        listed = [
            {
                "name": experiment.name,
                "paper": experiment.paper,
                "summary": experiment.summary,
                "figures": [declared(figure) for figure in experiment.figures],
            }
            for experiment in EXPERIMENTS
        ]
        sys.stdout.write(json.dumps({"experiments": listed}, ensure_ascii=False) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "paper", "what it shows"):
        table.add_column(heading, no_wrap=heading == "name")
    for experiment in EXPERIMENTS:
        table.add_row(experiment.name, experiment.citation, experiment.summary)
    _console().print(table)


def declared(figure: Figure) -> dict[str, object]:
    """Return what an experiment declares of a figure, as plain data."""
    target = figure.target
    return {
        "name": figure.name,
        "unit": figure.unit,
        **estimated(figure),
        "target": None if target is None else target.plain(),
        "why_no_target": figure.why_none or None,
    }


def estimated(figure: Figure) -> dict[str, object]:
    """Return how a figure is declared to be estimated, as plain data."""
    estimator = figure.estimator
    return {
        "estimator": estimator.text,
        "launches": estimator.launches,
        "batch": estimator.batch,
        "batch_of": estimator.of,
    }


def print_json(finished: Finished) -> None:
    """Print the outcome as the one JSON object that ends standard output."""
    sys.stdout.write(json.dumps(as_object(finished), ensure_ascii=False, default=str) + "\n")


def as_object(finished: Finished) -> dict[str, object]:
    """Return the outcome as plain data, under keys that stay the same."""
    experiment, outcome = finished.experiment, finished.outcome
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "quick": finished.quick,
        "figures": {key: _rounded(value) for key, value in outcome.figures.items()},
        "targets": {
            judged.figure.name: {
                **judged.target.plain(),
                "met": judged.met,
                **estimated(judged.figure),
                "launches_within": judged.within,
            }
            for judged in finished.judged
        },
        "figures_as": {
            figure.name: estimated(figure)
            for figure in experiment.figures
            if any(experiment.figure(key) is figure for key in outcome.figures)
        },
        "launches": {
            key: [_rounded(value) for value in values] for key, values in outcome.launches.items()
        },
        "curves": {
            name: [(_rounded(x), _rounded(y)) for x, y in points]
            for name, points in outcome.curves.items()
        },
        "conditions": outcome.conditions,
        "files": [str(path) for path in outcome.files],
    }


def _rounded(value: float) -> float | None:
    return six_digits(value) if math.isfinite(value) else None


def keep(finished: Finished, kept_in: Path, spare: Path) -> str:
    """Append a run to the kept ones; where that fails keep it in `spare`, and say so.

    So is one with figures that are not declared, which would be in the way of all that follow.
    """
    printed = as_object(finished)
    name, undeclared = finished.experiment.name, finished.undeclared
    why = "; ".join(undeclared) or f"{kept_in} cannot be written"
    if not undeclared and results.append(printed, kept_in, finished.commit):
        return ""
    where = results.append(printed, spare, finished.commit, ending=results.NOT_KEPT)
    remedy = "name another folder with --results"
    if where:
        append = f"tail -n 1 {where} >> {kept_in / f'{name}.jsonl'}"
        remedy = (
            f"its line is in {where}; append it: {append}; then run python -m experiments.published"
        )
    return f"this run of {name} is not kept: {why}; {remedy}"


def print_outcome(finished: Finished) -> None:
    """Print paper and here side by side, how each figure is judged, and where the plot is.

    A quick run is not judged, as it is not what was declared.
    """
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
    if finished.quick:
        console.print("a quick run, which is not judged and not kept")
    for judged in finished.judged:
        console.print(target_sentence(judged), soft_wrap=True)
    without = [] if finished.quick else sentences_without_target(experiment, outcome.figures)
    for sentence in without:
        console.print(sentence, soft_wrap=True)
    for note in outcome.notes:
        console.print(note)
    for path in outcome.files:
        if path.suffix == ".png":
            console.print(f"plot: {path}", soft_wrap=True)


def target_sentence(judged: Judged) -> str:
    """Say whether a target was met, by which estimator, and by how many of the launches.

    `target speedup >= 3.5: met, 6.1; 7 of 7 launches within it (median; 7 launches of 60 rounds)`.
    The interval of the figure stands behind it, and whether it reaches beyond the target.
    """
    verdict = "met" if judged.met else "MISSED"
    found = "not measured" if judged.value is None else f"{judged.value:.4g}{_interval(judged)}"
    number = len(judged.launches)
    launches = f"{number} launch" if number == 1 else f"{number} launches"
    estimator = judged.figure.estimator
    return (
        f"target {judged.figure.name} {judged.target}: {verdict}, {found}; {judged.within} of "
        f"{launches} within it ({estimator.text}; {estimator.counts})"
    )


def _interval(judged: Judged) -> str:
    if judged.interval is None:
        return ""
    low, high = judged.interval
    beyond = ", which reaches beyond the target" if judged.reaches_beyond else ""
    return f" (interval {low:.4g} to {high:.4g}{beyond})"


def sentences_without_target(experiment: Experiment, keys: Iterable[str]) -> list[str]:
    """Say why figures have no target, those with the same reason and estimator together."""
    found: dict[tuple[str, Estimator], list[str]] = {}
    for key in keys:
        figure = experiment.figure(key)
        if figure is not None and figure.target is None:
            names = found.setdefault((figure.why_none, figure.estimator), [])
            names += [] if figure.name in names else [figure.name]
    return [
        f"no target for {', '.join(names)}: {why} ({estimator.text}; {estimator.counts})"
        for (why, estimator), names in found.items()
    ]


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)
