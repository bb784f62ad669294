# SPDX-License-Identifier: BSD-3-Clause
"""Judge a run of a sweep: what the program made of its fault, and whether it should have."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from lanewise.rdma.program import Outcome

SHELL_SIGNAL = 128  # what a shell adds to the number of the signal that ended its program
# Of these a shell's status tells; others, such as 129, programs also use themselves.
_CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)


class Ending(Enum):
    """What became of a run; those from `crash` on are findings."""

    NOT_MET = "not met"
    SURVIVED = "survived"
    ERROR = "clean error"
    CRASH = "crash"
    HANG = "hang"
    WRONG = "wrong result"
    LEAK = "leak"

    @property
    def is_finding(self) -> bool:
        """Tell whether the program should not end so."""
        return self in {Ending.CRASH, Ending.HANG, Ending.WRONG, Ending.LEAK}


@dataclass(frozen=True)
class Ran:
    """What is known of a run: how both ends ended, and what the check said.

    `server` is None without a server, or where it was stopped because the program had ended with an
    error; `check_status` is None where there is no check, or nothing to check.
    """

    program: Outcome
    hung: bool = False
    server: Outcome | None = None
    server_hung: bool = False
    check_status: int | None = None


@dataclass(frozen=True)
class Verdict:
    """How a run ended, and what says so, in a few words."""

    ending: Ending
    why: str


def judged(ran: Ran, left_without_faults: Mapping[str, int]) -> Verdict:
    """Judge a run of a program that leaves `left_without_faults` when nothing goes wrong."""
    finding = _hang(ran) or _crash(ran)
    if finding is not None:
        return finding
    if ran.check_status:
        return Verdict(Ending.WRONG, f"status 0, but the check ended with {ran.check_status}")
    if left := _more(ran.program.left, left_without_faults):
        return Verdict(Ending.LEAK, ", ".join(f"{count} {name}" for name, count in left.items()))
    if not ran.program.faults:
        failed = f": {_said(ran.program)}" if ran.program.status != 0 else ""
        return Verdict(Ending.NOT_MET, f"it did not reach the fault{failed}")
    if ran.program.status == 0:
        return Verdict(Ending.SURVIVED, "status 0")
    return Verdict(Ending.ERROR, _said(ran.program))


def _hang(ran: Ran) -> Verdict | None:
    if ran.hung:
        return Verdict(Ending.HANG, "the program did not end")
    return Verdict(Ending.HANG, "the server did not end") if ran.server_hung else None


def _crash(ran: Ran) -> Verdict | None:
    if killed := killed_by(ran.program):
        return Verdict(Ending.CRASH, killed)
    killed = killed_by(ran.server) if ran.server is not None else ""
    return Verdict(Ending.CRASH, f"the server: {killed}") if killed else None


def killed_by(outcome: Outcome) -> str:
    """Return the name of the signal that ended a program; empty where none did."""
    if outcome.status < 0:
        names = {int(number): number.name for number in signal.Signals}
        return names.get(-outcome.status, f"signal {-outcome.status}")
    crashes = {SHELL_SIGNAL + number: number.name for number in _CRASHES}
    return crashes.get(outcome.status, "")


def _more(left: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """Return of which objects more are left than before, and how many more."""
    more = {name: count - before.get(name, 0) for name, count in left.items()}
    return {name: count for name, count in more.items() if count > 0}


def _said(outcome: Outcome) -> str:
    lines = outcome.stderr.strip().splitlines() or outcome.stdout.strip().splitlines()
    return f"status {outcome.status}" + (f": {lines[-1].strip()}" if lines else ", without a word")
