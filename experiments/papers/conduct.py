# SPDX-License-Identifier: BSD-3-Clause
"""Conduct: all experiments of the items, one after another, going on when one of them fails."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from experiments import results
from experiments.experiment import Experiment
from experiments.papers.answers import Run, measured_in
from experiments.run import Finished, run_experiment
from lanewise.errors import LanewiseError, RequestError

# What an experiment is taken to need of which nothing is known.
UNKNOWN_S = 240.0

Conduct = Callable[[Experiment, Path], Finished]


def conduct(
    experiments: Sequence[Experiment],
    folder: Path,
    say: Callable[[str], None],
    *,
    quick: bool = False,
    run: Conduct | None = None,
) -> Iterator[tuple[Experiment, Run, Finished | None]]:
    """Run each experiment in a folder of its own and give what it gave, as it ends.

    One that fails gives a Run that says why.  `say` is told which runs and how long the rest takes.
    To the conditions comes the load before the first of them: that of the others is their own work
    as well.
    """
    first_load = round(os.getloadavg()[0], 2)

    def run_one(one: Experiment, where: Path) -> Finished:
        finished = run(one, where) if run else run_experiment(one, where, quick=quick)
        conditions = {**finished.outcome.conditions, "load_average_before_all": first_load}
        outcome = replace(finished.outcome, conditions=conditions)
        return replace(finished, outcome=outcome, quick=quick and one.quick is not None)

    expected_s = [expected(one, quick=quick) for one in experiments]
    began_s = time.monotonic()
    for place, experiment in enumerate(experiments):
        left = left_text(expected_s, place, time.monotonic() - began_s)
        say(f"[{place + 1}/{len(experiments)}] {experiment.name} ({left})")
        yield (experiment, *_result_of(experiment, folder, say, run_one, quick=quick))


def _result_of(
    experiment: Experiment,
    folder: Path,
    say: Callable[[str], None],
    run_one: Conduct,
    *,
    quick: bool,
) -> tuple[Run, Finished | None]:
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    small = quick and experiment.quick is not None
    try:
        finished = run_one(experiment, folder / experiment.name)
    except LanewiseError as error:
        why = str(error)
    # A fault in one experiment must not cost what the others measure.
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    else:
        outcome = finished.outcome
        measured = measured_in(outcome.figures, outcome.curves)
        return Run(measured, outcome.conditions, when, small), finished
    say(f"{experiment.name} failed: {why}")
    return Run(None, {}, when, small, f"{experiment.name} failed: {why}"), None


def expected(experiment: Experiment, *, quick: bool, folder: Path = results.FOLDER) -> float:
    """Return how many seconds an experiment takes: as declared of a quick run, as in kept ones."""
    if quick and experiment.quick is not None:
        return experiment.quick.takes_s
    took = [
        float(run["conditions"]["took_s"])
        for run in results.read(experiment.name, folder)
        if "took_s" in run["conditions"]
    ]
    return statistics.median(took) if took else UNKNOWN_S


def refuse_quick_of(experiment: Experiment, folder: Path = results.FOLDER) -> None:
    """Raise RequestError where an experiment has no smaller scale, with the time that it takes."""
    if experiment.quick is not None:
        return
    took_s = expected(experiment, quick=False, folder=folder)
    takes = f"{took_s:.0f} s" if took_s < 90 else f"{took_s / 60:.0f} min"
    raise RequestError(
        f"{experiment.name} has no smaller scale and takes about {takes}; leave out --quick"
    )


def left_text(expected_s: Sequence[float], done: int, passed_s: float) -> str:
    """Say how long the rest takes, where the machine goes on as much slower as it has been."""
    known_s = sum(expected_s[:done])
    slower = passed_s / known_s if known_s > 0 else 1.0
    left_s = slower * sum(expected_s[done:])
    if left_s < 90:
        return f"about {left_s:.0f} s left"
    return f"about {left_s / 60:.0f} min left"
