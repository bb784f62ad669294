# SPDX-License-Identifier: BSD-3-Clause
"""Programs of users in the foreground: theirs are the terminal, the signals and the exit status.

A launcher that gets a signal can end its ranks; one that is killed, or left alone, cannot.  Runs
that are compared get the same standard input.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import FileIO
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
STDIN = 0
READ_BYTES = 1 << 20
# A pipe or a socket on which nothing comes for so long counts as having nothing.
SILENCE_S = 1.0

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
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> int:
        """Run a command, which also gets signals that came before; return the status of a shell."""
        sys.stdout.flush()
        try:
            process = subprocess.Popen(command, env=dict(environment), stdin=stdin, stdout=stdout)
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


@contextlib.contextmanager
def repeated_stdin() -> Iterator[Callable[[], int]]:
    """Give a function that returns standard input for the next of several commands.

    Each of them reads it from the place where it is now.  A pipe is read to its end first, and a
    file takes its place, which is empty where nothing comes; a terminal stays what it is.
    """
    # What a buffer still holds would be written, and fail again, when the file is closed.
    with tempfile.TemporaryFile(buffering=0) as kept:
        stdin, place = STDIN, place_in(STDIN)
        if not is_readable(STDIN):
            stdin, place = kept.fileno(), 0
        elif place is None and not os.isatty(STDIN):
            keep_stdin_in(kept)
            stdin, place = kept.fileno(), 0

        def from_there() -> int:
            if place is not None:
                os.lseek(stdin, place, os.SEEK_SET)
            return stdin

        yield from_there


def is_readable(descriptor: int) -> bool:
    """Tell whether a descriptor is open for reading."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    except OSError:
        return False


def place_in(descriptor: int) -> int | None:
    """Return the place from which a file is read; None for a pipe, a socket or a terminal."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def keep_stdin_in(file: FileIO) -> None:
    """Write all that comes on standard input to a file; RunError where it has no room.

    A pipe that nobody writes to need never end, as under ssh or a service.
    """
    if not select.select([STDIN], [], [], SILENCE_S)[0]:
        sys.stderr.write(
            f"lanewise: nothing came on standard input within {SILENCE_S:g} s, so the runs get "
            "none; give a file with < FILE if the program reads it\n"
        )
        return
    try:
        while said := next_of_stdin():
            while said:
                said = said[file.write(said) :]
    except OSError as error:
        raise RunError(
            f"standard input could not be kept in {tempfile.gettempdir()}: {error.strerror}; "
            "free space there, or set TMPDIR"
        ) from None


def next_of_stdin() -> bytes:
    """Wait for what comes next on standard input; return nothing at its end."""
    try:
        # Where reading does not block, nothing to read would be an error.
        select.select([STDIN], [], [])
        return os.read(STDIN, READ_BYTES)
    except OSError as error:
        raise RunError(f"standard input could not be read: {error.strerror}") from None


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
