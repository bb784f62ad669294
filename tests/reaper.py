# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command, and ends with it all that it started, in sessions of its own too.

    python tests/reaper.py COMMAND [ARGUMENT...]

A process whose parent has ended becomes a child of this one, which reaps it as init would, and
kills it once the command has ended.  SIGTERM interrupts the command, so that tests can put away
what they made, and kills it GRACE_S later.  The exit status is that of the command, as a shell
gives it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

GRACE_S = 10
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run what the command line asks for."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        # A shell makes jobs in the background ignore interrupts, and children inherit that.
        command = os.posix_spawnp(
            sys.argv[1], sys.argv[1:], os.environ, setsid=True, setsigmask=before,
            setsigdef=[signal.SIGINT],
        )  # fmt: skip
    except FileNotFoundError:
        print(f"cannot start {sys.argv[1]}", end="")
        return 127

    def interrupt(_number: int, _frame: object) -> None:
        signal_group(command, signal.SIGINT)
        signal.alarm(GRACE_S)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGALRM, lambda _number, _frame: signal_group(command, signal.SIGKILL))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    status = reap_until(command)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # its number may soon be another's
    signal.alarm(0)
    kill_children()
    return status if status >= 0 else 128 - status


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the group of a process; its end leaves the group to its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def reap_until(command: int) -> int:
    """Reap children until the command has ended; return its exit status."""
    while True:
        ended, status = os.wait()
        if ended == command:
            return os.waitstatus_to_exitcode(status)


def kill_children() -> None:
    """Kill and reap all children, and those too that come to this process when these end."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in Path("/proc/thread-self/children").read_text(encoding="ascii").split():
                os.kill(int(child), signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
