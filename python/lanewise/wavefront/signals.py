# SPDX-License-Identifier: BSD-3-Clause
"""Signals: a few steps that are done whole or not at all, whatever signals arrive meanwhile.

Python calls its handlers of signals on the main thread only, and that of Ctrl-C raises an exception
there.  While `deferred` is entered, handlers are replaced by one that remembers; what was
remembered is handled at the end.  Signals that Python does not handle, such as SIGKILL, do what
they always do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred() -> Iterator[None]:
    """Handle the signals that arrive meanwhile once the body has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal is handled on this thread
        return
    handlers = {
        int(number): handler
        for number in signal.valid_signals()
        if callable(handler := signal.getsignal(number))
    }
    arrived: dict[int, FrameType | None] = {}
    try:
        for number in handlers:
            signal.signal(number, arrived.__setitem__)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in arrived.items():
            handlers[number](number, frame)
