# SPDX-License-Identifier: BSD-3-Clause
"""Run: one experiment in a folder of its own, with the conditions of the machine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.experiment import Experiment, Figure, Outcome, Target
from experiments.workspace import Workspace, machine_conditions
from lanewise.errors import RequestError
from lanewise.launch.run import terminated_as_interrupted


@dataclass(frozen=True)
class Judged:
    """A figure beside its target, and the values that its launches give by themselves."""

    figure: Figure
    target: Target
    value: float | None
    launches: tuple[float, ...]

    @property
    def met(self) -> bool:
        """Say whether the figure is within the target."""
        return self.target.met_by(self.value)

    @property
    def within(self) -> int:
        """Return how many of the launches are within the target."""
        return sum(self.target.met_by(value) for value in self.launches)


@dataclass(frozen=True)
class Finished:
    """An experiment and what it gave."""

    experiment: Experiment
    outcome: Outcome

    @property
    def judged(self) -> list[Judged]:
        """Return every figure that has a target."""
        outcome = self.outcome
        found = []
        for name, target in self.experiment.targets.items():
            figure = self.experiment.figure(name)
            assert figure is not None
            value = outcome.figures.get(name)
            alone = [] if value is None else [value]
            found.append(
                Judged(figure, target, value, tuple(outcome.launches.get(name, alone)))
            )  # fmt: skip
        return found

    @property
    def met(self) -> bool:
        """Tell whether every target was met."""
        return all(judged.met for judged in self.judged)

    @property
    def faults(self) -> list[str]:
        """Return where the outcome is not what the experiment declares."""
        name = self.experiment.name
        faults = [
            f"{name} does not declare the figure {key}; add it to its figures"
            for key in self.outcome.figures
            if self.experiment.figure(key) is None
        ]
        faults += [
            f"{name} gives {len(judged.launches)} launches of {judged.figure.name} and declares "
            f"{judged.figure.estimator.launches}; put the value of each into Outcome.launches"
            for judged in self.judged
            if judged.value is not None
            and len(judged.launches) != judged.figure.estimator.launches
        ]  # fmt: skip
        if not any(path.suffix == ".png" for path in self.outcome.files):
            faults.append(f"{name} draws no plot; save one with Workspace.save")
        return faults


def run_experiment(experiment: Experiment, folder: Path, *, quick: bool = False) -> Finished:
    """Run `experiment`, writing into `folder`; conditions of the machine are added to its own.

    `load_average` is that of the minute before: what other work there was.
    Raises RequestError where the folder cannot be written, RunError where the
    experiment cannot run here.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"cannot write {folder}: {error.strerror}; name another --folder"
        ) from error
    load = os.getloadavg()[0]
    started = time.monotonic()
    small = experiment.quick if quick else None
    # What an experiment made on the disk, in memory and in the kernel goes however it is ended.
    with terminated_as_interrupted():
        outcome = (small.run if small else experiment.run)(Workspace(folder))
    conditions = {
        **machine_conditions(),
        **outcome.conditions,
        "load_average": round(load, 2),
        "took_s": round(time.monotonic() - started, 1),
    }
    return Finished(experiment, replace(outcome, conditions=conditions))
