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
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.lines import lines_of
from lanewise.launch.machine import processes
from lanewise.launch.words import refuse_unusable

TAIL_LINES = 40
GRACE_S = 5.0
# After its last event a program has nothing left to do. Ranks of MPICH 4.0 over UCX and TCP at
# times do not leave MPI_Finalize: one waits for another that no longer looks at its connections.
LAST_EVENT = "end"
LEAVING_S = 10.0

Event = dict[str, Any]
Stream = int | IO[str] | None
PIPES = (subprocess.PIPE, subprocess.PIPE)


@dataclass
class Outcome:
    """How a launch ended: its status, and the last lines that were not events.

    `started` and `ended` tell whether any event came, and the last one.
    """

    status: int = 0
    started: bool = False
    ended: bool = False
    output: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))


def ignored(_text: str) -> None:
    """Do nothing with a line."""


@dataclass(frozen=True)
class EveryLine:
    """Takes each line of a program of a user, which may print what looks like an event of ours."""

    take: Callable[[str], None] = ignored


class LimitError(RunError):
    """A launch that took too long and was stopped, with what came of it."""

    def __init__(self, limit_s: float, outcome: Outcome) -> None:
        super().__init__(f"it had not ended after {limit_s:.0f} s and was stopped")
        self.outcome = outcome


class Watch:
    """Ends a process with all of its session where it takes too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.expired = False
        self.timer: threading.Timer | None = None

    def allow(self, seconds: float) -> None:
        """Let it run for so long from now, whatever was allowed before."""
        self.close()
        self.timer = threading.Timer(seconds, self._expire)
        self.timer.daemon = True
        self.timer.start()

    def close(self) -> None:
        """Watch no longer."""
        if self.timer is not None:
            self.timer.cancel()

    def _expire(self) -> None:
        if self.process.poll() is None:
            self.expired = True
            kill_session(self.process.pid)


def run(
    line: Sequence[str],
    variables: Mapping[str, str],
    on_event: Callable[[Event], None] | EveryLine,
    limit_s: float | None = None,
    tail_lines: int | None = TAIL_LINES,
) -> Outcome:
    """Run `line` with `variables` added to the environment, and wait for its end.

    `on_event` gets each JSON object that the ranks print; ranks that stay long after the last one
    are ended, and count as done.  The outcome has the last `tail_lines` of all other
    output.  Raises RunError where the launcher cannot be started, and LimitError where it has not
    ended after `limit_s`, its ranks killed; on KeyboardInterrupt (or SIGTERM and SIGHUP,
    which become one) ends the ranks first.
    """
    outcome = Outcome(output=deque(maxlen=tail_lines))
    with terminated_as_interrupted(), started(line, variables) as process:
        lines = contextlib.closing(lines_of(process))
        with contextlib.closing(Watch(process)) as watch, lines as said:
            if limit_s is not None:
                watch.allow(limit_s)
            for stream, text in said:
                if isinstance(on_event, EveryLine):
                    outcome.output.append(text)
                    on_event.take(text)
                    continue
                event = event_of(text) if stream is process.stdout else None
                if event is None:
                    outcome.output.append(text)
                    continue
                on_event(event)
                outcome.started = True
                if event["event"] == LAST_EVENT:
                    outcome.ended = True
                    watch.allow(LEAVING_S)
            outcome.status = process.wait()
    if watch.expired and not outcome.ended:
        raise LimitError(limit_s or 0.0, outcome)
    if watch.expired:
        outcome.status = 0
    return outcome


@contextlib.contextmanager
def started(
    line: Sequence[str],
    variables: Mapping[str, str],
    *,
    folder: Path | None = None,
    streams: tuple[Stream, Stream] = PIPES,
    grace_s: float = GRACE_S,
) -> Iterator[subprocess.Popen[str]]:
    """Start `line` in a session of its own and leave nothing of it behind.

    `streams` take its output and its errors; None stands for a stream of this process.  A process
    that is ended has `grace_s` to end what it started itself.  Raises RequestError for a word that
    no argument can be, and RunError where it cannot be started.
    """
    refuse_unusable(line)
    with deferred_interrupts() as release:
        try:
            process = subprocess.Popen(
                line,
                env={**os.environ, **variables},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=streams[0],
                stderr=streams[1],
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"{line[0]} could not be started: {error.strerror}") from None
        try:
            release()
            yield process
        finally:
            end(process, grace_s)


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes], grace_s: float = GRACE_S) -> None:
    """End a launcher and its ranks: first ask, which lets it end its ranks, then kill.

    Whoever interrupts again while it is being asked gets the kill at once.
    """
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(grace_s)
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
    for process in processes():
        with contextlib.suppress(OSError):
            # pid (name) state parent group session: the name may hold any bytes.
            text = (process / "stat").read_bytes()
            state, _, _, number = text.rpartition(b")")[2].split()[:4]
            if int(number) == session and state not in b"ZX":
                members.append(int(process.name))
    return members


@contextlib.contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Have SIGTERM of a batch system and SIGHUP of a terminal raise KeyboardInterrupt meanwhile.

    A signal that is ignored, as SIGHUP is under nohup, still is, and one that is not Python's.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    # A handler that a program in C has set can be neither called nor set again from here.
    left = (signal.SIG_IGN, None)
    taken = [number for number, handler in before.items() if handler not in left]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def event_of(text: str) -> Event | None:
    """Return the event in a line of output, None for any other line."""
    if not text.startswith("{"):
        return None
    try:
        values = json.loads(text)
    except json.JSONDecodeError:
        return None
    return values if isinstance(values, dict) and "event" in values else None
