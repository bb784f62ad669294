# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command, and ends with it all that it started, in sessions of its own too.

    python tests/reaper.py COMMAND [ARGUMENT...]

A process whose parent has ended becomes a child of this one, which reaps it as init would, and
ends it once the command has ended: by SIGTERM, and LEAVING_S later by SIGKILL.  SIGTERM, which also
comes where whoever started this one is killed, interrupts the command, so that tests can put away
what they made, and kills it GRACE_S later.  The exit status is that of the command, as a shell
gives it, or 1 where something cannot be ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

GRACE_S = 30  # more than a test waits for the end of what it has started
LEAVING_S = 2
KILLED_S = 30  # for the kernel to end what has been killed
CHILDREN = Path("/proc/thread-self/children")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run what the command line asks for."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if os.getppid() != parent:
        return 1  # it was killed before it was to be told
    try:
        # A shell makes jobs in the background ignore interrupts, Python ignores broken pipes and
        # limits of size, and children inherit that.
        command = os.posix_spawnp(
            sys.argv[1], sys.argv[1:], os.environ, setsid=True, setsigmask=before,
            setsigdef=[signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ],
        )  # fmt: skip
    except OSError as error:
        print(f"cannot start {sys.argv[1]}: {error.strerror}", end="")
        return 127

    def interrupt(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would cut off what it began
        signal_group(command, signal.SIGINT)
        signal.alarm(GRACE_S)

    def kill(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGALRM, give_up)
        signal_group(command, signal.SIGKILL)
        signal.alarm(KILLED_S)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGALRM, kill)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        status = reap_until(command)
    except TimeoutError:
        status = 1
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # its number may soon be another's
    signal.alarm(0)
    if left := end_children():
        print(f"cannot end the processes {', '.join(map(str, left))}", file=sys.stderr)
        return 1
    return status if status >= 0 else 128 - status


def give_up(_number: int, _frame: object) -> None:
    """End the wait for a process that has been killed and does not end."""
    raise TimeoutError


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the group of a process; its end leaves the group to its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def reap_until(command: int) -> int:
    """Reap children until the command has ended; return its exit status."""
    while True:
        ended, status = os.wait()
        if ended == command:
            return os.waitstatus_to_exitcode(status)


def end_children() -> list[int]:
    """End and reap all children, and those that come to this process then; return what is left."""
    began_s = time.monotonic()
    asked: set[int] = set()
    while children := [int(child) for child in CHILDREN.read_text(encoding="ascii").split()]:
        passed_s = time.monotonic() - began_s
        if passed_s > LEAVING_S + KILLED_S:
            return children
        for child in children:
            number = signal.SIGKILL if passed_s > LEAVING_S else signal.SIGTERM
            if number == signal.SIGKILL or child not in asked:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, number)
            asked.add(child)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        time.sleep(0.01)
    return []


if __name__ == "__main__":
    sys.exit(main())
