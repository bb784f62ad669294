# SPDX-License-Identifier: BSD-3-Clause
"""Run: one experiment in a folder of its own, with the conditions of the machine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import Experiment, Outcome
from experiments.workspace import Workspace, machine_conditions
from lanewise.errors import RequestError


@dataclass(frozen=True)
class Finished:
    """An experiment and what it gave."""

    experiment: Experiment
    outcome: Outcome

    @property
    def met(self) -> bool:
        """Tell whether every target was met."""
        return all(target.met_by(self.outcome.figures) for target in self.experiment.targets)


def run_experiment(experiment: Experiment, folder: Path) -> Finished:
    """Run `experiment`, writing into `folder`; conditions of the machine are added to its own.

    `load_average` is that of the minute before: what other work there was.
    Raises RequestError where the folder cannot be written, RunError where the
    experiment cannot run here.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"cannot write {folder}: {error.strerror}; name another -o") from error
    load = os.getloadavg()[0]
    started = time.monotonic()
    outcome = experiment.run(Workspace(folder))
    conditions = {
        **machine_conditions(),
        **outcome.conditions,
        "load_average": round(load, 2),
        "took_s": round(time.monotonic() - started, 1),
    }
    return Finished(
        experiment,
        Outcome(outcome.figures, outcome.rows, conditions, outcome.files, outcome.notes),
    )
