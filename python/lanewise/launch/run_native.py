# SPDX-License-Identifier: BSD-3-Clause
"""Launch a native program and, where it fails, explain the failure: the one place for both.

A native program explains what it refuses in one sentence and ends with status 2.  For anything
else there are the last words of the MPI, which come with the error as its `details`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Job, Launcher
from lanewise.launch.run import TAIL_LINES, Event, EveryLine, Outcome, run
from lanewise.launch.words import refuse_unusable

DETAILS = 10
WORDS_MAX = 600
# Lines of an MPI's help that say nothing: rules, the sender's name, how to see it once more.
_EMPTY = set("-=* \t")
_SENDER = re.compile(r"^\[[^\]]*\]\s*")
_NOISE = re.compile(
    r"sent help message|help_aggregate|^\*\*\*|^Local abort|Per user-direction|Primary job|"
    r"a non-zero exit code|process that caused|exit code:|^Process name|ORTE_ERROR_LOG|"
    r"^Epoll (ADD|MOD|DEL)\(\d+\) on fd "
)
COMPLAINT = re.compile(r"lanewise-[a-z-]+: (?!warning)(.*)")


def nowhere(_event: Event) -> None:
    """Drop an event."""


@dataclass(frozen=True)
class Conditions:
    """Under what a launch runs: `variables` of the ranks, `environment` of the launcher itself.

    `enter` makes the launcher's line one that runs elsewhere, such as on a host of a testbed.
    `tail_lines` is how much of the output that is not events is kept, None for all.  `keeps_pause`
    leaves the launcher its pause between asking ranks to end and killing them: programs of users
    may need it to end well, ranks of ours do not.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    enter: Callable[[Sequence[str]], list[str]] = list
    limit_s: float | None = None
    tail_lines: int | None = TAIL_LINES
    keeps_pause: bool = False


PLAIN = Conditions()


def run_native(
    choice: Choice,
    job: Job,
    on_event: Callable[[Event], None] | EveryLine = nowhere,
    conditions: Conditions = PLAIN,
) -> Outcome:
    """Launch `job` and return how it ended, well or not; `on_event` gets each event of the ranks.

    Raises RunError where the launcher cannot be started, LimitError where it takes too long.
    """
    write_files(choice.launcher, job)
    at_end = {} if conditions.keeps_pause else choice.launcher.at_end
    unset = {name: text for name, text in at_end.items() if name not in os.environ}
    environment = {**unset, **choice.launcher.environment(job), **conditions.environment}
    line = line_of(choice, job, conditions)
    return run(line, environment, on_event, conditions.limit_s, conditions.tail_lines)


def line_of(choice: Choice, job: Job, conditions: Conditions = PLAIN) -> list[str]:
    """Return the command line of a launch."""
    line = choice.launcher.command(job)
    if conditions.variables:
        line = choice.launcher.with_variables(line, conditions.variables)
    return conditions.enter(line)


def require_success(choice: Choice, outcome: Outcome) -> None:
    """Raise the error that the failed launch of a program without events amounts to."""
    if outcome.status != 0:
        raise failure_of(choice, outcome)


def failure_of(
    choice: Choice, outcome: Outcome, kept: str | None = None, earlier: str = ""
) -> LanewiseError:
    """Return the error that a failed launch amounts to, with the last lines of its output.

    `kept` says what is kept of the work of a program that prints events; None where it prints none.
    `earlier` says what launches before this one left, which matters where this one did not start.
    """
    lines = list(outcome.output)
    sentence = sentence_in(lines)
    if sentence and outcome.status == 2 and not earlier:
        return RequestError(sentence)
    if sentence:
        left = kept if outcome.started else earlier
        return RunError(f"{sentence} ({left})" if left else sentence)
    status = f"{Path(choice.executable).name} ended with status {outcome.status}"
    if kept is not None and outcome.started:
        status = f"a rank died: {status} {kept}".rstrip()
    elif kept is not None:
        left = f"{earlier}; " if earlier else ""
        status = f"the ranks did not start: {status}; {left}lanewise doctor may say why"
    return RunError(status, lines[-DETAILS:])


def sentence_in(lines: Sequence[str]) -> str | None:
    """Return the native program's own complaint among lines of output, without its name."""
    for text in lines:
        found = COMPLAINT.match(text)
        if found:
            return found.group(1)
    return None


def words_of(outcome: Outcome) -> str:
    """Return what a failed launch said as one line: our sentence, else the MPI's words."""
    ours = sentence_in(list(outcome.output))
    if ours:
        return ours
    lines = _without_senders(outcome)
    words = " / ".join(dict.fromkeys(_telling(lines) or lines)) or "it said nothing"
    return words if len(words) <= WORDS_MAX else f"{words[:WORDS_MAX]} ..."


def says_why(outcome: Outcome) -> bool:
    """Return whether a failed launch said more than that it failed."""
    return bool(sentence_in(list(outcome.output)) or _telling(_without_senders(outcome)))


def _without_senders(outcome: Outcome) -> list[str]:
    return [_SENDER.sub("", text.strip()) for text in outcome.output]


def _telling(lines: Sequence[str]) -> list[str]:
    return [text for text in lines if set(text) - _EMPTY and not _NOISE.search(text)]


def ask_program(program: Path, arguments: Sequence[str]) -> str:
    """Run a native program that needs no MPI and return what it prints; else its complaint."""
    refuse_unusable(arguments)
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise refusal(program.name, done.returncode, done.stderr)
    return done.stdout


def refusal(program: str, status: int, output: str) -> LanewiseError:
    """Return the error that the output and status of a native program outside of MPI amount to."""
    lines = [text for text in output.splitlines() if text.strip()]
    last = lines[-1].removeprefix(f"{program}: ") if lines else ""
    sentence = sentence_in(lines) or last or f"{program} ended with status {status}"
    return RequestError(sentence) if status == 2 else RunError(sentence)


def write_files(launcher: Launcher, job: Job) -> None:
    """Write the files that the launcher's line names."""
    for path, text in launcher.files(job).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
