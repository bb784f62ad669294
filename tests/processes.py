# SPDX-License-Identifier: BSD-3-Clause
"""Programs that a test starts, which end with it whatever becomes of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

GRACE_S = 10.0


@contextmanager
def started(line: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Give a program that runs in a session of its own, and end it with the block.

    One that has ended, in a test that goes on, may have left processes: the test will ask for them.
    """
    with subprocess.Popen(line, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        except BaseException:
            end(process)
            raise
        if process.poll() is None:
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Let a program end its ranks, which would spin for ever, and kill what is left of them."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run_to_end(
    line: Sequence[str], timeout_s: float, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program as subprocess.run does, and end it with its children at its limit."""
    pipe = subprocess.PIPE
    with started(line, stdout=pipe, stderr=pipe, **options) as process:
        output, errors = process.communicate(timeout=timeout_s)
    return subprocess.CompletedProcess(line, process.returncode, output, errors)
