# SPDX-License-Identifier: BSD-3-Clause
"""Programs of users in the foreground: theirs are the terminal, the signals and the exit status.

A launcher that gets a signal can end its ranks; one that is killed, or left alone, cannot.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType

from lanewise.errors import RequestError, RunError
from lanewise.interrupts import ENDING

# What a command gets of a signal that would end this program alone. Launchers hand some of them on
# to their ranks, such as the warning of a batch system that the time of a job is nearly up.
PASSED_ON: Mapping[int, int] = {
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGHUP: signal.SIGTERM,
    signal.SIGUSR1: signal.SIGUSR1,
    signal.SIGUSR2: signal.SIGUSR2,
    signal.SIGQUIT: signal.SIGQUIT,
    signal.SIGALRM: signal.SIGALRM,
    signal.SIGXCPU: signal.SIGXCPU,
}
# An interrupt of the terminal reaches the launcher by itself, which ends its ranks. A further one
# is passed on, as the first may have come from elsewhere.
TAKEN = (*PASSED_ON, signal.SIGINT)
# Python ignores these, and a program that takes the place of this one would do so, too.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

Handler = Callable[[int, FrameType | None], object] | int


class Foreground:
    """Runs commands one after the other, and passes on the signals that come meanwhile.

    `arrived` has the signals that came, in order.  One that is ignored, as SIGINT is in the
    background of a script, still is.
    """

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self._owed: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Foreground:
        """Take the signals."""
        for number in TAKEN:
            handler = signal.getsignal(number)
            # A handler that a program in C has set could not be put back.
            if handler is not None and handler is not signal.SIG_IGN:
                self._before[number] = handler
                signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the former handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(
        self, command: Sequence[str], environment: Mapping[str, str], stdout: int | None = None
    ) -> int:
        """Run a command, which also gets signals that came before; return the status of a shell."""
        sys.stdout.flush()
        try:
            process = subprocess.Popen(command, env=dict(environment), stdout=stdout)
        except OSError as error:
            raise RequestError(f"{command[0]} could not be started: {error.strerror}") from None
        self._process = process
        while self._owed:
            process.send_signal(self._owed.pop(0))
        status = process.wait()
        self._process = None
        return status if status >= 0 else 128 - status

    def require_undisturbed(self, run: str) -> None:
        """Raise KeyboardInterrupt where a signal came that is to end all, RunError for any other.

        `run` is what came last, or is to come, of several that are compared.
        """
        if set(self.arrived) & set(ENDING):
            raise KeyboardInterrupt
        if self.arrived:
            raise RunError(
                f"{signal.Signals(self.arrived[0]).name} came during {run} or before it, and such "
                "runs cannot be compared; run the command again without it"
            )

    def _take(self, number: int, _frame: FrameType | None) -> None:
        is_first = number not in self.arrived
        self.arrived.append(number)
        if number == signal.SIGINT and is_first:
            return
        passed_on = PASSED_ON.get(number, number)
        if self._process is None:
            self._owed.append(passed_on)
        else:
            self._process.send_signal(passed_on)


def in_foreground(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command with the terminal and the signals, and return the exit status of a shell."""
    with Foreground() as foreground:
        return foreground.run(command, environment)


def become(name: str, command: list[str], environment: Mapping[str, str]) -> None:
    """Go on as the program called `name`, which then has the exit status, too.

    RequestError where it cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    ignored = {number: signal.signal(number, signal.SIG_DFL) for number in IGNORED_BY_PYTHON}
    try:
        os.execvpe(name, command, environment)
    except OSError as error:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        raise RequestError(f"{name} could not be started: {error.strerror}") from None
