# SPDX-License-Identifier: BSD-3-Clause
"""How a program that runs on a host of a testbed is stopped.

It is below the process that entered the host: a signal for that one alone would leave it running.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


def stop(started: subprocess.Popen[str], number: int = signal.SIGTERM) -> None:
    """Send a signal to a program on a host, through the process that entered the host for it."""
    for process in _last_below(started.pid):
        with suppress(OSError):
            os.kill(process, number)


def kill(started: subprocess.Popen[str]) -> None:
    """Kill a program on a host, even if what enters the host for it is only about to start it."""
    while started.poll() is None:
        stop(started, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            started.wait(0.1)


def _last_below(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:
        return []
    children = [int(word) for word in text.split()]
    return [last for child in children for last in _last_below(child)] or [process]
