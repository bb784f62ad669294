# SPDX-License-Identifier: BSD-3-Clause
"""Run: one experiment in a folder of its own, with the conditions of the machine."""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import results
from experiments.experiment import Experiment, Figure, Outcome, Target
from experiments.workspace import Workspace, machine_conditions
from lanewise.errors import RequestError
from lanewise.launch.run import terminated_as_interrupted


@dataclass(frozen=True)
class Judged:
    """A figure beside its target, and the values that its launches give by themselves.

    `interval` has the ends of its interval, where the outcome has them.
    """

    figure: Figure
    target: Target
    value: float | None
    launches: tuple[float, ...]
    interval: tuple[float, float] | None = None

    @property
    def met(self) -> bool:
        """Say whether the figure is within the target."""
        return self.target.met_by(self.value)

    @property
    def within(self) -> int:
        """Return how many of the launches are within the target."""
        return sum(self.target.met_by(value) for value in self.launches)

    @property
    def reaches_beyond(self) -> bool:
        """Say whether an end of the interval is beyond the target."""
        return self.interval is not None and not all(map(self.target.met_by, self.interval))


@dataclass(frozen=True)
class Finished:
    """An experiment and what it gave; `commit` is that on which it began.

    A quick run had the smaller scale, so that it is not judged.
    """

    experiment: Experiment
    outcome: Outcome
    commit: str = ""
    quick: bool = False

    @property
    def judged(self) -> list[Judged]:
        """Return every figure that has a target."""
        outcome = self.outcome
        found: list[Judged] = []
        if self.quick:
            return found
        for name, target in self.experiment.targets.items():
            figure = self.experiment.figure(name)
            assert figure is not None
            value = outcome.figures.get(name)
            alone = [] if value is None else [value]
            launches = tuple(outcome.launches.get(name, alone))
            ends = interval_of(outcome.figures, name)
            found.append(Judged(figure, target, value, launches, ends))
        return found

    @property
    def met(self) -> bool:
        """Tell whether every target was met."""
        return all(judged.met for judged in self.judged)

    @property
    def undeclared(self) -> list[str]:
        """Return what is said of figures that are not declared; no such run can be kept."""
        name = self.experiment.name
        return [
            f"{name} does not declare the figure {key}; add it to its figures"
            for key in self.outcome.figures
            if self.experiment.figure(key) is None
        ]

    @property
    def faults(self) -> list[str]:
        """Return where the outcome is not what the experiment declares."""
        name = self.experiment.name
        faults = self.undeclared
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


def interval_of(figures: Mapping[str, float | None], key: str) -> tuple[float, float] | None:
    """Return the ends of the interval of a figure; None where there is none."""
    low, high = (figures.get(f"{key}_{end}") for end in ("low", "high"))
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return low, high


def run_experiment(experiment: Experiment, folder: Path, *, quick: bool = False) -> Finished:
    """Run `experiment`, writing into `folder`; conditions of the machine are added to its own.

    `load_average` is that of the minute before: what other work there was.
    Raises RequestError where the folder cannot be written or another run writes into it, RunError
    where the experiment cannot run here.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"cannot write {folder}: {error.strerror}; name another --folder"
        ) from error
    load = os.getloadavg()[0]
    started = time.monotonic()
    commit = results.commit()
    small = experiment.quick if quick else None
    # What an experiment made on the disk, in memory and in the kernel goes however it is ended.
    with terminated_as_interrupted(), alone_in(folder):
        outcome = (small.run if small else experiment.run)(Workspace(folder))
    conditions = {
        **machine_conditions(),
        **outcome.conditions,
        "load_average": round(load, 2),
        "took_s": round(time.monotonic() - started, 1),
    }
    return Finished(
        experiment, replace(outcome, conditions=conditions), commit, quick=small is not None
    )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Have a folder to oneself; RequestError where another run has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some file systems have no such locks; runs there are as alone as people keep them.
        with suppress(OSError):
            _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RequestError(
            f"another run writes into {folder}; wait for its end or name another --folder"
        ) from None
