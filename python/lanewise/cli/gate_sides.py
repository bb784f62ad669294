# SPDX-License-Identifier: BSD-3-Clause
"""How the gate starts one launch of a side, and what it keeps of it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lanewise.cli import launching
from lanewise.cli.native_options import NativeOptions
from lanewise.cli.numbers import positive_count
from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.job import Job, Launcher
from lanewise.launch.native import MEASURE
from lanewise.launch.plan import plan
from lanewise.launch.run import started
from lanewise.launch.run_native import Conditions, line_of
from lanewise.launch.sides import Side, shown

if TYPE_CHECKING:
    from lanewise.results.gate import PointName
    from lanewise.results.gate_launches import Statistic
    from lanewise.results.read import Samples

LINES_SHOWN = 10


class Starter(Protocol):
    """What starts one launch of a side after another."""

    @property
    def side(self) -> Side:
        """Return the side."""

    def line(self) -> str:
        """Return the line of a launch as one would type it."""

    def start(self) -> Samples:
        """Launch once and return what was measured."""


@dataclass
class Launched:
    """The launches of one side so far; `warnings` are those of a file that they come from."""

    samples: list[Samples] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of_file(cls, path: Path) -> Launched:
        """Return the launches of a file; RequestError where there is just one."""
        from lanewise.imports.load import load
        from lanewise.results.gate_launches import of_whole_launches, several

        samples, warnings = of_whole_launches(load(path))
        several(samples, "mean")
        return cls([samples], warnings)

    @property
    def count(self) -> int:
        """Return how many launches there are."""
        return sum(samples.launches for samples in self.samples)

    @property
    def first(self) -> Samples:
        """Return the first launch, whose context is that of all."""
        return self.samples[0]

    def measured_by(self, other: Launched) -> Launched:
        """Return the launches by the definition of the other side's tool, where they have it."""
        from lanewise.results.gate_launches import as_measured_by

        measured = [as_measured_by(other.first, samples) for samples in self.samples]
        return replace(self, samples=measured)

    def times(self, statistic: Statistic) -> list[dict[PointName, float]]:
        """Return the time of each point, for each launch."""
        from lanewise.results.gate_launches import times_of

        return [one for samples in self.samples for one in times_of(samples, statistic)]

    def write(self, path: Path) -> None:
        """Write the launches as one file of samples, without their repetitions."""
        from lanewise.files.whole import write_whole
        from lanewise.imports.load import record_line
        from lanewise.results.records import Context, End, Point

        if not self.samples:
            return
        context = replace(self.first.context, launches=len(self.samples))
        points = [
            replace(point, launch=launch, samples_s=())
            for launch, samples in enumerate(self.samples, start=1)
            for point in samples.launch_points
        ]
        records: list[Context | Point | End] = [context, *points]
        records.append(End(len(points), sum(one.elapsed_s for one in points)))
        write_whole(path, "".join(f"{record_line(one)}\n" for one in records))


def starter_of(
    side: Side, values: Mapping[str, Any], native: NativeOptions, folder: Path
) -> Starter:
    """Return what starts a side; RequestError where it names nothing to measure, or both."""
    if side.command:
        if values["operations"]:
            raise RequestError(
                f"{values['operations'][0]} is measured by Lanewise and the {side.title} is a "
                "command; leave one out"
            )
        ranks = positive_count("-n", values["ranks"]) if values["ranks"] else 0
        return CommandStarter(side, folder, ranks)
    if not values["operations"]:
        raise RequestError("no operation to measure; name one, such as bcast, or two commands")
    environment = {**os.environ, **side.of_launcher}
    choice = launching.chosen(values, environment)
    require_launcher(choice)
    ranks = launching.rank_count(choice, values)
    arguments = [*native.arguments(values), f"--time-limit={values['time_limit']}"]
    further = launching.launcher_arguments(values["launcher_args"])
    arguments += [f"--ranks={ranks}", *recorded(choice, values["transport"], further)]
    job = launching.job_running(choice, values, folder, (MEASURE, *arguments), ranks)
    plan(choice.launcher, job)
    job = with_reference(choice.launcher, job)
    asked = launching.conditions_of(values)
    conditions = replace(
        asked,
        variables={**asked.variables, **side.variables},
        environment={**asked.environment, **side.of_launcher},
    )
    return MeasureStarter(side, choice, job, conditions)


def with_reference(launcher: Launcher, job: Job) -> Job:
    """Return a job that also measures the reference, where that fits to what it measures."""
    from lanewise.results import gate_reference

    if job.ranks < 2:
        return job
    program, *arguments = job.program
    more = replace(job, program=(program, gate_reference.OPERATION, *arguments))
    try:
        plan(launcher, more)
    except RequestError:
        return job
    return more


@dataclass(frozen=True)
class MeasureStarter:
    """Launches of lanewise-measure."""

    side: Side
    choice: Choice
    job: Job
    conditions: Conditions

    def line(self) -> str:
        """Return the launch line, with the variables of the side in front."""
        return shown(self.side, line_of(self.choice, self.job, self.conditions))

    def start(self) -> Samples:
        """Launch the ranks once."""
        from lanewise.results.read import load

        path = self.job.folder / "launch.jsonl"
        path.unlink(missing_ok=True)
        program = (*self.job.program, "--events", f"--output={path}")
        ended: list[bool] = []
        launching.launch(
            "gate", self.choice, replace(self.job, program=program),
            lambda event: ended.append(True) if event["event"] == "end" else None,
            done=lambda: bool(ended), kept=lambda: f"in a launch of the {self.side.title}",
            conditions=self.conditions,
        )  # fmt: skip
        return load(path)


@dataclass(frozen=True)
class CommandStarter:
    """Launches of a command that measures by itself; `ranks` is for texts that do not say."""

    side: Side
    folder: Path
    ranks: int

    def line(self) -> str:
        """Return the command, with the variables of the side in front."""
        assignments = [f"{name}={shlex.quote(one)}" for name, one in self.side.variables.items()]
        return " ".join([*assignments, shlex.join(self.side.command)])

    def start(self) -> Samples:
        """Run the command once and read what it wrote, else what it printed."""
        path = self.folder / "launch.txt"
        path.unlink(missing_ok=True)
        words = self.side.writing_to(path)
        try:
            with started(words, self.side.variables) as process:
                printed, said = process.communicate()
        except RunError as error:
            raise RequestError(f"{error}; check the {self.side.title}") from None
        if process.returncode != 0:
            raise RunError(
                f"the {self.side.title} ended with status {process.returncode}: {self.line()}",
                (printed + said).splitlines()[-LINES_SHOWN:],
            )
        if not self.side.names_output:
            if not printed.strip():
                raise RunError(f"the {self.side.title} printed no results: {self.line()}")
            path.write_text(printed, encoding="utf-8")
        elif not path.is_file():
            raise RunError(f"the {self.side.title} wrote no {{output}}: {self.line()}")
        return self.results_in(path)

    def results_in(self, path: Path) -> Samples:
        """Return the results of a launch; RunError where it has none, or those of several."""
        from lanewise.imports.load import load

        did = "wrote" if self.side.names_output else "printed"
        try:
            samples = load(path, self.ranks)
        except RequestError as error:
            why = str(error).replace(str(path), "what it " + did)
            raise RunError(
                f"the {self.side.title} {did} no results that can be read: {why}"
            ) from None
        if samples.launches != 1:
            raise RunError(
                f"the {self.side.title} {did} results of {samples.launches} launches, and each "
                "start has to be one; let the command launch its ranks once (lanewise measure "
                "does with --launches 1)"
            )
        return samples
