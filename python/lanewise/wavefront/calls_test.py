# SPDX-License-Identifier: BSD-3-Clause
"""A call that is interrupted is over when it raises: nothing uses its store any more."""

from __future__ import annotations

import threading
import time

import pytest

from lanewise.wavefront.calls import Call


class Counted:
    """A native function that returns once it is told to stop, and how often it did so."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.stopped = threading.Semaphore(0)
        self.returned = 0

    def stop(self) -> None:
        self.stopped.release()

    def __call__(self) -> int:
        self.begun.set()
        if self.stopped.acquire(timeout=10):
            # Meanwhile a caller that does not wait goes on.
            time.sleep(0.05)
            self.returned += 1
        return 0


def test_nothing_runs_on_after_an_interrupt_while_the_thread_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = Counted()

    # What a thread that has been made waits for, before it counts as alive.
    def interrupted(_event: threading.Event, _timeout: float | None = None) -> bool:
        monkeypatch.undo()
        assert function.begun.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupted)

    with pytest.raises(KeyboardInterrupt):
        Call(function.stop).result(function)

    assert function.returned == 1


def test_a_call_that_is_given_up_before_its_thread_begins_never_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function, given_up = Counted(), []

    def interrupted(thread: threading.Thread) -> None:
        given_up.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)

    with pytest.raises(KeyboardInterrupt):
        Call(function.stop).result(function)

    given_up[0].run()
    assert function.returned == 0
