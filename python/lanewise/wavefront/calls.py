# SPDX-License-Identifier: BSD-3-Clause
"""Calls into the library that can be interrupted, and that no exception gets past.

The native function runs on a thread of its own.  Python raises KeyboardInterrupt, and what other
signal handlers raise, on the main thread only: there it ends the call, and never hits a callback
half way.  A kernel of Numba's that raises cannot return what it raised; Python hands such
exceptions to sys.unraisablehook, which is where they are taken from.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from lanewise.errors import RunError

# How often a call that is to end is told so; it may not have begun yet.
_AGAIN_S = 0.05


class Call:
    """A native call: what its callbacks raise ends it and is raised by `result`."""

    def __init__(self, stop: Callable[[], None] = lambda: None) -> None:
        self.raised: BaseException | None = None
        self._stop = stop
        self._asked: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._answered = threading.Semaphore(0)

    def fail(self, error: BaseException) -> None:
        """End the call with `error`, unless it ends with another already."""
        if self.raised is None:
            self.raised = error
        self._stop()

    def on_caller(self, act: Callable[[], None]) -> None:
        """Run `act` on the thread that called, from a callback; not once the call is to end."""
        if self.raised is None:
            self._asked.put(act)
            self._answered.acquire()

    def result(self, function: Callable[[], int]) -> int:
        """Return what `function` returned; raise what ended it, after it has returned."""
        found: list[int] = []
        # Taken by the thread when it begins, or before that by whoever gives the call up.
        begun = threading.Lock()
        ended = threading.Event()

        def work() -> None:
            if not begun.acquire(blocking=False):
                return
            try:
                found.append(function())
            except BaseException as error:  # raised by the thread that called
                self.fail(error)
            finally:
                ended.set()
                self._asked.put(None)

        thread = threading.Thread(target=work, name="lanewise-wavefront")
        try:
            # An interrupt may come while this waits for the thread to begin.
            thread.start()
            while (act := self._next()) is not None:
                act()
                self._answered.release()
        except BaseException as error:  # raised once the thread has ended
            self.fail(error)
        if not begun.acquire(blocking=False):
            self._end(ended)
        # Until it is over it refers to what it called, such as a store that is to be closed.
        if thread.is_alive():
            thread.join()
        if self.raised is not None:
            try:
                raise self.raised
            finally:
                # What its traceback refers to, such as a store, would refer to it in turn.
                self.raised = None
        return found[0]

    def _next(self) -> Callable[[], None] | None:
        # A signal that another thread got is seen here once this one wakes.
        while True:
            try:
                return self._asked.get(timeout=_AGAIN_S)
            except queue.Empty:  # noqa: PERF203
                continue

    def _end(self, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                if self.raised is not None:
                    self._stop()
                    self._answered.release()
                ended.wait(_AGAIN_S)
            # A second interrupt changes nothing.
            except BaseException as error:  # noqa: PERF203
                self.fail(error)


class KernelErrors:
    """While entered, exceptions that kernels raise on threads of the library end `call`."""

    _lock = threading.Lock()
    _entered: list[KernelErrors] = []  # noqa: RUF012
    _former: Any = None

    def __init__(self, call: Call, kernel: object, name: str) -> None:
        self.call = call
        self.kernel = kernel
        self.name = name

    def __enter__(self) -> None:
        with KernelErrors._lock:
            if not KernelErrors._entered:
                KernelErrors._former = sys.unraisablehook
                sys.unraisablehook = _take_unraisable
            KernelErrors._entered.append(self)

    def __exit__(self, *_exception: object) -> None:
        with KernelErrors._lock:
            KernelErrors._entered.remove(self)
            if not KernelErrors._entered:
                sys.unraisablehook = KernelErrors._former


def _take_unraisable(unraisable: Any) -> None:
    entered = list(KernelErrors._entered)
    # Numba names the function, ctypes gives the callable; an address says neither.
    own = [
        one
        for one in entered
        if unraisable.object is one.kernel or unraisable.object == repr(one.kernel)
    ]
    known = {thread.ident for thread in threading.enumerate()}
    foreign = threading.get_ident() not in known
    concerned = own or (entered if foreign else [])
    if not concerned:
        KernelErrors._former(unraisable)
    for one in concerned:
        raised = unraisable.exc_value or unraisable.exc_type()
        error = RunError(
            f"the kernel {one.name} raised {type(raised).__name__}: {raised}; "
            "the data of the last whole pass are kept"
        )
        error.__cause__ = raised
        one.call.fail(error)
