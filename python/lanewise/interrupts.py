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
    """Handle the signals that arrive meanwhile when the function that is given is called.

    Otherwise they are handled at the end.  That goes for all signals that Python handles, of which
    those of a command raise KeyboardInterrupt.  Python calls handlers on the main thread only; on
    others nothing is deferred.

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
    handlers = {
        int(number): handler
        for number in signal.valid_signals()
        if callable(handler := signal.getsignal(number))
    }
    deferred = list(handlers)
    arrived: dict[int, FrameType | None] = {}

    def release() -> None:
        while deferred:
            signal.signal(deferred[-1], handlers[deferred[-1]])
            deferred.pop()
        while arrived:
            number = next(iter(arrived))
            handlers[number](number, arrived.pop(number))

    try:
        for number in deferred:
            signal.signal(number, arrived.__setitem__)
        yield release
    finally:
        release()
