# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command wait while it starts a process, and nothing is left of that."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lanewise import rdma
from lanewise.cli.model import fit
from lanewise.interrupts import ENDING, deferred_interrupts
from lanewise.launch.run import run
from lanewise.testbed.running import wait_for

SLEEP = ["sleep", "600"]


@pytest.fixture(autouse=True)
def interrupting() -> Iterator[None]:
    """Have all signals raise KeyboardInterrupt, as in a command; tests may run under nohup."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_a_deferred_signal_acts_when_it_is_released(
    number: signal.Signals,
) -> None:
    done = []

    with pytest.raises(KeyboardInterrupt), deferred_interrupts() as release:
        signal.raise_signal(number)
        done.append("started")
        release()
        done.append("went on")

    assert done == ["started"]
    assert signal.getsignal(number) is signal.default_int_handler


def test_of_several_signals_each_acts_once() -> None:
    acted: list[int] = []
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _frame: acted.append(number))

    with deferred_interrupts() as release:
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(number)
        assert acted == []
        release()

    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    assert acted == [signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM]


def test_a_signal_that_nobody_releases_acts_at_the_end() -> None:
    done = []

    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        signal.raise_signal(signal.SIGTERM)
        done.append("started")

    assert done == ["started"]


def test_after_the_release_a_signal_acts_at_once() -> None:
    with deferred_interrupts() as release:
        release()

        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with deferred_interrupts():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.raise_signal(signal.SIGHUP)


def test_a_thread_that_gets_no_signals_defers_none() -> None:
    handlers: list[object] = []

    def defer() -> None:
        with deferred_interrupts() as release:
            handlers.append(signal.getsignal(signal.SIGTERM))
            release()

    thread = threading.Thread(target=defer)
    thread.start()
    thread.join()

    assert handlers == [signal.default_int_handler]


@pytest.mark.parametrize(
    "start",
    [
        lambda _: run(SLEEP, {}, print),
        lambda _: wait_for(SLEEP, {}),
        lambda _: rdma.run(["sleep", "600"]),
        lambda _: fit.status_of(["run", *SLEEP]),
    ],
    ids=["launch", "testbed run", "rdma program", "model fit"],
)
def test_a_signal_while_a_process_is_started_leaves_no_process(
    start: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[Any]] = []

    class Interrupted(subprocess.Popen[Any]):
        """A process whose start a signal meets after it has begun to run."""

        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)

    with pytest.raises(KeyboardInterrupt):
        start(tmp_path)

    left = [process for process in started if process.poll() is None]
    for process in left:
        process.kill()
    assert len(started) == 1
    assert not left
