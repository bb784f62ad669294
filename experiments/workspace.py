# SPDX-License-Identifier: BSD-3-Clause
"""Workspace: where one experiment runs, and its hands: measure, run a program, save a figure.

What is missing for an experiment to run (a native build, a launcher) is a
failure of the run and not of the request, so it ends with status 1.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from lanewise import __version__
from lanewise.errors import RequestError, RunError
from lanewise.launch import machine
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.job import Cluster, Job
from lanewise.launch.native import find_builds
from lanewise.launch.plan import sentence_in, write_files
from lanewise.launch.run import Event, run
from lanewise.plots import save_figure
from lanewise.results.read import Samples, load

LOCAL = "openmpi"
SIMULATED = "smpi"
ARGUMENTS_SAID = 12


def machine_conditions() -> dict[str, object]:
    """Return what is known of this machine, under the names that a context record uses."""
    return {
        "lanewise": __version__,
        "kernel": f"{platform.system()} {platform.release()}",
        "cores": machine.core_count(),
        "governor": ", ".join(machine.governors()) or "unknown",
        "clocksource": machine.clock_source(),
    }


def rank_count(most: int) -> int:
    """Return as many ranks as there are cores, at least two and at most `most`."""
    return max(2, min(machine.core_count(), most))


@dataclass(frozen=True)
class Workspace:
    """The folder of one experiment.  Progress goes to standard error, results into the folder.

    `variables` are set in the environment of the ranks, and nowhere else.
    """

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def say(self, text: str) -> None:
        """Write one line of progress."""
        sys.stderr.write(f"  {text}\n")
        sys.stderr.flush()

    def measure(
        self,
        name: str,
        arguments: Sequence[str],
        ranks: int,
        *,
        launcher: str = "",
        cluster: Cluster | None = None,
    ) -> Samples:
        """Run lanewise-measure with `arguments` on `ranks` ranks and return what it wrote.

        The result file is `name`.jsonl in the folder; one of an earlier run is replaced.  Without
        a launcher the first that can launch here is used.  Raises RunError.
        """
        self.say(f"{name}: {' '.join(arguments)}, {ranks} ranks")
        path = self.folder / f"{name}.jsonl"
        path.unlink(missing_ok=True)
        with failing_as_run():
            choice = _chosen(launcher)
            program = choice.build.program("lanewise-measure")
        launched = ("--ranks", str(ranks), "--launcher", choice.launcher.name)
        known = (*launched, "--events", "-o", str(path))
        job = self._job(choice, (str(program), *arguments, *known), ranks, cluster)
        _launch(choice, job, self.variables)
        with failing_as_run():
            return load(path)

    def ask(
        self,
        program: str,
        ranks: int = 0,
        *,
        arguments: Sequence[str] = (),
        launcher: str = "",
        cluster: Cluster | None = None,
    ) -> dict[str, Any]:
        """Run a native program that prints one JSON object, and return it.

        With `ranks` it is launched under MPI, without it is run alone.  Raises RunError.
        """
        more = ["and so on"] if len(arguments) > ARGUMENTS_SAID else []
        line = " ".join([program, *arguments[:ARGUMENTS_SAID], *more])
        self.say(line + (f", {ranks} ranks" if ranks else ""))
        if ranks == 0:
            with failing_as_run():
                path = _program_of_any_build(program)
            return _object_in(program, _run_alone([str(path), *arguments]))
        with failing_as_run():
            choice = _chosen(launcher)
            path = choice.build.program(program)
        job = self._job(choice, (str(path), *arguments), ranks, cluster)
        return _object_in(program, _launch(choice, job, self.variables))

    def save(self, figure: Figure, name: str) -> list[Path]:
        """Save `figure` as `name`.png and `name`.svg in the folder."""
        return save_figure(figure, self.folder / name)

    def _job(
        self, choice: Choice, program: tuple[str, ...], ranks: int, cluster: Cluster | None
    ) -> Job:
        return Job(
            program=program,
            ranks=ranks,
            executable=choice.executable,
            mpi=choice.build.mpi,
            cores=machine.core_count(),
            user_id=os.getuid(),
            folder=self.folder,
            cluster=cluster or Cluster(),
        )


@contextmanager
def failing_as_run() -> Iterator[None]:
    """Turn a RequestError within into a RunError with the same sentence."""
    try:
        yield
    except RequestError as error:
        raise RunError(str(error)) from error


def _chosen(launcher: str) -> Choice:
    choice = choose(launcher, os.environ)
    require_launcher(choice)
    return choice


def _program_of_any_build(name: str) -> Path:
    builds = find_builds(os.environ)
    for build in builds:
        path = build.programs / name
        if path.is_file():
            return path
    raise RequestError(f"{name} is not built; build it with: make build")


def _run_alone(line: list[str]) -> deque[str]:
    outcome = run(line, {}, _ignore)
    _require_success(Path(line[0]).name, outcome.status, outcome.output)
    return outcome.output


def _launch(choice: Choice, job: Job, variables: Mapping[str, str]) -> deque[str]:
    write_files(choice.launcher, job)
    line = choice.launcher.command(job)
    if variables:
        line = choice.launcher.with_variables(line, variables)
    outcome = run(line, choice.launcher.environment(job), _ignore)
    _require_success(Path(job.program[0]).name, outcome.status, outcome.output)
    return outcome.output


def _ignore(_event: Event) -> None:
    """Drop an event: the result file holds what it says."""


def _require_success(name: str, status: int, output: deque[str]) -> None:
    if status == 0:
        return
    last = next((text for text in reversed(output) if text.strip()), "it said nothing")
    raise RunError(f"{name} ended with status {status}: {sentence_in(list(output)) or last}")


def _object_in(name: str, output: deque[str]) -> dict[str, Any]:
    for text in reversed(output):
        if not text.startswith("{"):
            continue
        try:
            values = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(values, dict):
            return values
    raise RunError(f"{name} printed no JSON object; is it of this version?")
