# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts while the command is loaded, which takes a moment, since many modules are imported.

An exception that is raised within an import may become another one, or none: Python makes a
RuntimeError of it where a class is made, and drops it in a callback.  Nothing has begun by then, so
the process just ends.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

STOPPED = b"lanewise: stopped\n"
STATUS = 130


def end_at_once(_number: int, _frame: FrameType | None) -> None:
    """Say that the command was stopped, and end."""
    os.write(2, STOPPED)
    os._exit(STATUS)


def end_while_loading() -> None:
    """End at once where Ctrl-C raised KeyboardInterrupt; a process that ignores it still does."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


def raise_from_now_on() -> None:
    """Have Ctrl-C raise KeyboardInterrupt again, which what has begun can act on."""
    if signal.getsignal(signal.SIGINT) is end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
