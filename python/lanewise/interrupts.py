# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command: Ctrl-C, SIGTERM of a batch system, SIGHUP of a terminal that closes.

They raise KeyboardInterrupt, except while the command is loaded, which takes a moment, since many
modules are imported.  An exception that is raised within an import may become another one, or none:
Python makes a RuntimeError of it where a class is made, and drops it in a callback.  Nothing has
begun by then, so the process just ends.

They are deferred while a process is started: raised within the start, they would leave a process
that nobody knows of.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOPPED = b"lanewise: stopped\n"
STATUS = 130


def end_at_once(_number: int, _frame: FrameType | None) -> None:
    """Say that the command was stopped, and end."""
    os.write(2, STOPPED)
    os._exit(STATUS)


def end_while_loading() -> None:
    """End at once at these signals; a process that ignores one, as under nohup, still does."""
    for number in ENDING:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, end_at_once)


def raise_from_now_on() -> None:
    """Have these signals raise KeyboardInterrupt, which what has begun can act on."""
    for number in ENDING:
        if signal.getsignal(number) is end_at_once:
            signal.signal(number, signal.default_int_handler)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Defer these signals until the function that is given is called, or to the end.

    The first of those that have come acts then, as it would have before:

        with deferred_interrupts() as release:
            process = subprocess.Popen(line)
            try:
                release()
                process.wait()
            finally:
                process.kill()
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING}
    deferred = [number for number, handler in handlers.items() if callable(handler)]

    def release() -> None:
        while deferred:
            signal.signal(deferred[-1], handlers[deferred[-1]])
            deferred.pop()
        if came:
            number, came[:] = came[0], []
            signal.raise_signal(number)

    try:
        for number in deferred:
            signal.signal(number, lambda number, _frame: came.append(number))
        yield release
    finally:
        release()
