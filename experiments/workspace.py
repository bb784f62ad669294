# SPDX-License-Identifier: BSD-3-Clause
"""Workspace: where one experiment runs, and how it measures, runs programs and saves figures.

A missing native build or launcher is a failure of the run and not of the request, so it ends with
status 1.
"""

from __future__ import annotations

import json
import os
import platform
import sys
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
from lanewise.launch.native import find_program
from lanewise.launch.run_native import Conditions, ask_program, require_success, run_native
from lanewise.plots import save_figure
from lanewise.results.read import Samples, load

LOCAL = "openmpi"
SIMULATED = "smpi"
ARGUMENTS_SHOWN = 12
# What a tuning leaves beside its file, so that it can go on.
TUNING_ENDINGS = (".evidence", ".finalists")


def machine_conditions() -> dict[str, object]:
    """Return what is known of this machine, under the names that a context record uses."""
    return {
        "lanewise": __version__,
        "kernel": f"{platform.system()} {platform.release()}",
        "processor": machine.processor(),
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

    def fresh(self, name: str) -> Path:
        """Return the whole path of a file in the folder, without what an earlier run left there."""
        path = self.folder.resolve() / name
        for ending in ("", *TUNING_ENDINGS):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        return path

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
        a launcher the first that works here is used.  Raises RunError.
        """
        self.say(f"{name}: {' '.join(arguments)}, {ranks} ranks")
        path = self.fresh(f"{name}.jsonl")
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
        more = ["and so on"] if len(arguments) > ARGUMENTS_SHOWN else []
        line = " ".join([program, *arguments[:ARGUMENTS_SHOWN], *more])
        self.say(line + (f", {ranks} ranks" if ranks else ""))
        if ranks == 0:
            with failing_as_run():
                text = ask_program(find_program(program, os.environ), arguments)
            return _object_in(program, text.splitlines())
        with failing_as_run():
            choice = _chosen(launcher)
            path = choice.build.program(program)
        job = self._job(choice, (str(path), *arguments), ranks, cluster)
        return _object_in(program, _launch(choice, job, self.variables))

    def launch(
        self, program: str, ranks: int, arguments: Sequence[str], launcher: str = ""
    ) -> None:
        """Launch a native program that keeps what it finds in a file.  Raises RunError."""
        self.say(f"{program}, {ranks} ranks")
        with failing_as_run():
            choice = _chosen(launcher)
            path = choice.build.program(program)
        _launch(choice, self._job(choice, (str(path), *arguments), ranks, None), self.variables)

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
            slots=machine.core_count(),
            cores=machine.core_count(),
            user_id=os.getuid(),
            folder=self.folder,
            cluster=cluster or Cluster(),
        )


@contextmanager
def failing_as_run() -> Iterator[None]:
    """Turn a RequestError within into a RunError; what is not built needs `make experiments`."""
    try:
        yield
    except RequestError as error:
        said = str(error).replace("make build", "make experiments")
        if "is not built" in said and "make experiments" not in said:
            said += "; make experiments builds it"
        raise RunError(said) from error


def _chosen(launcher: str) -> Choice:
    choice = choose(launcher, os.environ)
    require_launcher(choice)
    return choice


def _launch(choice: Choice, job: Job, variables: Mapping[str, str]) -> list[str]:
    outcome = run_native(choice, job, conditions=Conditions(variables))
    with failing_as_run():
        require_success(choice, outcome)
    return list(outcome.output)


def _object_in(name: str, output: Sequence[str]) -> dict[str, Any]:
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
