# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.tune`: find algorithms that are faster than the MPI's default, from Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.files.whole import require_place
from lanewise.launch.choose import Choice, recorded, require_launcher
from lanewise.launch.describe import describe
from lanewise.launch.job import Job
from lanewise.launch.native import TUNE, find_program
from lanewise.launch.native_arguments import arguments_of
from lanewise.launch.plan import plan
from lanewise.launch.run import Event
from lanewise.launch.run_native import failure_of, run_native
from lanewise.measurement.options import texts_of
from lanewise.measurement.request import Request, positive, refuse_no_sizes, refuse_output
from lanewise.measurement.running_job import is_rank
from lanewise.measurement.tuned import TuningResult
from lanewise.suite.asked import Asked, asked_for, chosen, conditions_of, job_running, room_of
from lanewise.tuning.conduct import Launch, conduct, evidence_path
from lanewise.tuning.course import Course, launches_for
from lanewise.tuning.evidence import read_evidence, tuning_from
from lanewise.tuning.write import save

# Options of the native program that `tune` has arguments for.
INSTEAD = {
    "budget": "give budget_s=, in seconds",
    "collectives": "name collectives by themselves, such as 'scatter'",
}


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
    smpi_rate: str | float = "",
    smpi_latency: str | float = "",
    smpi_speeds: str | float | Iterable[str | float] = "",
    **options: Any,
) -> TuningResult:
    """Find algorithms that are faster than the MPI's default for collectives such as "scatter".

    One launch of the ranks measures all candidates and the default, up to four more screen the most
    promising, unless `budget_s` is short, and together they choose; `launches` more (by default 7
    to 50, as many as fit; a rule needs 5) judge what they chose, and a rule is made only if a
    candidate is significantly faster.  `budget_s` limits the time of all of this, in seconds; 0 is
    no limit.  `sizes` are in bytes: a number, several, or text such as "4:1M:x4".  The other
    arguments are those of `lanewise.measure`, and further keywords are options of `lanewise tune`
    with `_` for `-`.  With `output` the tuning file is written there, for `lanewise run`.  Until
    then what was measured is kept in a file of that name with .evidence behind it; after an
    interrupt or a failure `lanewise tune -o FILE --resume` with the same options goes on from it.

    Raises RequestError if the request is invalid, and nothing is started, and in a process that an
    MPI launcher started; RunError if the ranks failed; TypeError for an unknown keyword.  An
    interrupt ends the ranks and is raised as KeyboardInterrupt.
    """
    for name in (name for name in INSTEAD if name in options):
        raise TypeError(f"unknown option '{name}'; {INSTEAD[name]}")
    refuse_no_sizes(sizes)
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
    refuse_outputs(request)
    asked = asked_for(
        launcher, transport, hosts, hostfile, launcher_arguments, smpi_rate=smpi_rate,
        smpi_latency=smpi_latency, smpi_speeds=smpi_speeds,
    )  # fmt: skip
    choice = chosen(asked)
    require_launcher(choice)
    with tempfile.TemporaryDirectory(prefix="lanewise-tune-") as folder:
        tuning = Tuning(request, asked, choice, Path(folder))
        result = tuning.result(budget_s)
        if request.output is not None:
            tuning.save(result, request.output)
    return result


def refuse_outputs(request: Request) -> None:
    """Raise RequestError where the output or its evidence exists, or cannot be written."""
    refuse_output(request)
    if request.output is None:
        return
    evidence = evidence_path(request.output)
    require_place(evidence)
    if evidence.exists():
        raise RequestError(
            f"{evidence} exists; lanewise tune -o {request.output} --resume "
            "goes on from it, or name another output"
        )


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
        return evidence_path(self.request.output or self.folder / "tuning.json")

    @property
    def kept(self) -> str:
        """Say where what was measured is kept; nothing where it is not."""
        if self.request.output is None or not self.evidence.exists():
            return ""
        return (
            f"what was measured is kept in {self.evidence}; "
            f"lanewise tune -o {self.request.output} --resume with the same options continues"
        )

    def save(self, result: TuningResult, output: Path) -> None:
        """Write the tuning file, which holds the evidence of a tuning that came to its end."""
        try:
            save(result.tuning, output)
        except LanewiseError as error:
            raise RunError(f"{error}; {self.kept}") from None
        if result.complete:
            self.evidence.unlink()

    def result(self, budget_s: float) -> TuningResult:
        """Make all launches, and draw the rules from what they measured."""
        launches = launches_for(self.choice.launcher, self.request.launches)
        planned = plan(self.choice.launcher, self.job())
        timed = Course(
            budget_s, launches.judging, enough=launches.enough, screenings=launches.screening
        )
        done = conduct(timed, self.evidence, planned.points, lambda one: self.launch(timed, one))
        tuning = tuning_from(*read_evidence(self.evidence), planned.sizes_bytes_of)
        return TuningResult(tuning, done.complete, self.job().notice)

    def job(self, *more: str) -> Job:
        """Return a launch of the ranks, with `more` arguments."""
        described = describe([str(find_program(TUNE, os.environ))]).options
        texts: Mapping[str, Any] = texts_of(self.request.options, described)
        ranks = self.request.ranks or room_of(self.asked, self.choice).ranks
        words = arguments_of(described, {**texts, "collectives": self.request.operations})
        words += [f"--output={self.evidence.resolve()}", f"--ranks={ranks}"]
        words += [*recorded(self.choice, self.asked.transport), *more]
        return job_running(self.asked, self.choice, self.folder, (TUNE, *words), ranks)

    def launch(self, timed: Course, one: Launch) -> Seen:
        """Make one launch, and return what its ranks said; RequestError or RunError if it fails."""
        limit = () if one.seconds is None else (f"--budget={one.seconds:.3f}s",)
        job = self.job(*limit, *one.words, *(["--resume"] if one.resumed else []))
        seen, began_s = Seen(), timed.clock()
        outcome = run_native(self.choice, job, seen.take, conditions_of(self.asked))
        if outcome.status != 0 or not (seen.ended or seen.out_of_budget):
            place = one.place.removeprefix(", ") or "the first launch"
            kept = "; ".join(filter(None, (f"in {place}", self.kept)))
            raise failure_of(self.choice, outcome, kept, earlier=self.kept)
        timed.launched(began_s, seen.elapsed_s)
        return seen
