# SPDX-License-Identifier: BSD-3-Clause
"""Run a launcher, hand its event lines on as they come, and end it with all its ranks.

The launcher gets a session of its own: a Ctrl-C reaches this program alone, which then ends the
launcher's process group itself and can say what was kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lanewise.errors import RunError

TAIL_LINES = 40
GRACE_S = 5.0

Event = dict[str, Any]


@dataclass
class Outcome:
    """How a launch ended: its status, and the last lines that were not events."""

    status: int = 0
    output: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))


def run(
    line: Sequence[str], variables: Mapping[str, str], on_event: Callable[[Event], None]
) -> Outcome:
    """Run `line` with `variables` added to the environment, and wait for its end.

    `on_event` gets each JSON object that the ranks print.  Raises RunError where the launcher
    cannot be started; on KeyboardInterrupt (or SIGTERM, which becomes one) ends the ranks first.
    """
    outcome = Outcome()
    with terminated_as_interrupted(), started(line, variables) as process:
        assert process.stdout is not None and process.stderr is not None
        reader = threading.Thread(target=keep_tail, args=(process.stderr, outcome), daemon=True)
        reader.start()
        for text in process.stdout:
            event = event_of(text)
            if event is None:
                outcome.output.append(text.rstrip("\n"))
            else:
                on_event(event)
        outcome.status = process.wait()
        reader.join(GRACE_S)
    return outcome


@contextlib.contextmanager
def started(line: Sequence[str], variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Start `line` in a session of its own and leave nothing of it behind."""
    try:
        process = subprocess.Popen(
            line,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise RunError(f"{line[0]} could not be started: {error.strerror}") from None
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a launcher and its ranks: first ask, which lets it end its ranks, then kill.

    Whoever interrupts again while it is being asked gets the kill at once.
    """
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        kill_session(process.pid)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def kill_session(session: int) -> None:
    """Kill all processes of a session on this host, and see them gone.

    Open MPI gives each rank a process group of its own, so the launcher's group is not enough.
    """
    deadline_s = time.monotonic() + GRACE_S
    while (members := living_members(session)) and time.monotonic() < deadline_s:
        for process in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def living_members(session: int) -> list[int]:
    """Return the processes of a session that still run (a zombie does not)."""
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # pid (name) state parent group session: the name may hold spaces and brackets.
            state, _, _, number = path.read_text().rpartition(")")[2].split()[:4]
            if int(number) == session and state not in "ZX":
                members.append(int(path.parent.name))
    return members


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Turn SIGTERM, which a batch system sends, into KeyboardInterrupt meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def keep_tail(stream: IO[str], outcome: Outcome) -> None:
    """Read `stream` to its end, keeping the last lines."""
    with contextlib.suppress(ValueError):  # the stream was closed under the reader
        for text in stream:
            outcome.output.append(text.rstrip("\n"))


def event_of(text: str) -> Event | None:
    """Return the event in a line of output, None for any other line."""
    if not text.startswith("{"):
        return None
    try:
        values = json.loads(text)
    except json.JSONDecodeError:
        return None
    return values if isinstance(values, dict) and "event" in values else None
