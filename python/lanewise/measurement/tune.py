# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.tune`: find algorithms that are faster than the MPI's default, from Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.describe import describe
from lanewise.launch.job import Job
from lanewise.launch.native import TUNE, find_program
from lanewise.launch.native_arguments import arguments_of
from lanewise.launch.plan import plan
from lanewise.launch.run import Event
from lanewise.launch.run_native import failure_of, run_native
from lanewise.measurement.options import texts_of
from lanewise.measurement.request import Request, positive, refuse_output
from lanewise.measurement.running_job import is_rank
from lanewise.measurement.tuned import TuningResult
from lanewise.suite.asked import Asked, asked_for, chosen, conditions_of, job_running, room_of
from lanewise.tuning.conduct import Launch, conduct
from lanewise.tuning.course import Course, launches_for
from lanewise.tuning.evidence import read_evidence, tuning_from
from lanewise.tuning.write import save


@dataclass
class Seen:
    """What the ranks of one launch said: whether they came to their end, and how long it took."""

    ended: bool = False
    out_of_budget: bool = False
    elapsed_s: float = 0.0
    least_s: float = 0.0

    def take(self, event: Event) -> None:
        """Take in an event."""
        if event["event"] in ("budget", "end"):
            self.elapsed_s = float(event["elapsed_s"])
            self.least_s = float(event.get("least_s", 0.0))
            self.ended = event["event"] == "end"
            self.out_of_budget = not self.ended


def tune(  # noqa: PLR0913
    *collectives: str,
    ranks: int | None = None,
    sizes: str | int | Sequence[int] | None = None,
    budget_s: float = 0.0,
    launches: int | None = None,
    launcher: str = "",
    transport: str = "",
    hosts: str | Sequence[str] = "",
    hostfile: str | Path = "",
    launcher_arguments: Sequence[str] = (),
    output: str | Path | None = None,
    **options: Any,
) -> TuningResult:
    """Find algorithms that are faster than the MPI's default for collectives such as "scatter".

    One launch of the ranks measures all candidates and the default, up to four more screen the most
    promising, unless `budget_s` is short, and together they choose; `launches` more (by default 7
    to 50, as many as fit; a rule needs 5) judge what they chose, and a rule is made only if a
    candidate is significantly faster.  `budget_s` limits the time of all of this, in seconds; 0 is
    no limit.  `sizes` are in bytes: a number, several, or text such as "4:1M:x4".  The other
    arguments are those of `lanewise.measure`, and further keywords are options of `lanewise tune`
    with `_` for `-`.  With `output` the tuning file is written there, for `lanewise run`.

    Raises RequestError if the request is invalid, and nothing is started, and in a process that an
    MPI launcher started; RunError if the ranks failed; TypeError for an unknown keyword.  An
    interrupt ends the ranks and is raised as KeyboardInterrupt.
    """
    if is_rank(os.environ):
        raise RequestError("tune launches ranks; start the program without an MPI launcher")
    request = Request(
        operations=collectives,
        ranks=positive("ranks", ranks),
        launches=positive("launches", launches),
        output=Path(output) if output is not None else None,
        options={"sizes": sizes, **options},
    )
    if not budget_s >= 0:
        raise RequestError(f"budget_s={budget_s} is not 0 or more")
    refuse_output(request)
    asked = asked_for(launcher, transport, hosts, hostfile, launcher_arguments)
    choice = chosen(asked)
    require_launcher(choice)
    with tempfile.TemporaryDirectory(prefix="lanewise-tune-") as folder:
        tuning = Tuning(request, asked, choice, Path(folder))
        result = tuning.result(budget_s)
    if request.output is not None:
        save(result.tuning, request.output)
    return result


@dataclass(frozen=True)
class Tuning:
    """A tuning to be made: what for, and how its ranks are launched; `folder` is for its files."""

    request: Request
    asked: Asked
    choice: Choice
    folder: Path

    @property
    def evidence(self) -> Path:
        """Return where the ranks write what they measured."""
        return self.folder / "tuning.evidence"

    def result(self, budget_s: float) -> TuningResult:
        """Make all launches, and draw the rules from what they measured."""
        launches = launches_for(self.choice.launcher, self.request.launches)
        planned = plan(self.choice.launcher, self.job())
        timed = Course(
            budget_s, launches.judging, enough=launches.enough, screenings=launches.screening
        )
        done = conduct(timed, self.evidence, planned.points, lambda one: self.launch(timed, one))
        tuning = tuning_from(*read_evidence(self.evidence))
        return TuningResult(tuning, done.complete, self.job().notice)

    def job(self, *more: str) -> Job:
        """Return a launch of the ranks, with `more` arguments."""
        described = describe([str(find_program(TUNE, os.environ))]).options
        texts: Mapping[str, Any] = texts_of(self.request.options, described)
        ranks = self.request.ranks or room_of(self.asked, self.choice).ranks
        words = arguments_of(described, {**texts, "collectives": self.request.operations})
        words += [f"--output={self.evidence}", f"--ranks={ranks}"]
        words += [*recorded(self.choice, self.asked.transport), *more]
        return job_running(self.asked, self.choice, self.folder, (TUNE, *words), ranks)

    def launch(self, timed: Course, one: Launch) -> Seen:
        """Make one launch, and return what its ranks said; RequestError or RunError if it fails."""
        limit = () if one.seconds is None else (f"--budget={one.seconds:.3f}s",)
        job = self.job(*limit, *one.words, *(["--resume"] if one.resumed else []))
        seen, began_s = Seen(), timed.clock()
        outcome = run_native(self.choice, job, seen.take, conditions_of(self.asked))
        if outcome.status != 0 or not (seen.ended or seen.out_of_budget):
            raise failure_of(self.choice, outcome, one.place.removeprefix(", "))
        timed.launched(began_s, seen.elapsed_s)
        return seen
