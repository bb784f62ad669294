# SPDX-License-Identifier: BSD-3-Clause
"""What a test has started ends with it, also where the test fails or waits in vain."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

import processes
from processes import run_to_end, started

# Says the number of a child into the file of its first argument, which both hold open.
WITH_CHILD = 'exec >"$0"; sleep 600 & echo $!; wait'
DEAF = f'trap "" TERM; {WITH_CHILD}; wait'


@pytest.mark.parametrize("script", [WITH_CHILD, DEAF])
def test_a_program_past_its_limit_ends_with_its_children(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE_S", 0.2)
    said = tmp_path / "said"
    os.mkfifo(said)
    with os.fdopen(os.open(said, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as words:
        with pytest.raises(subprocess.TimeoutExpired):
            run_to_end(["sh", "-c", script, str(said)], 10)

        child = int(words.readline())
        try:
            assert select.select([words], [], [], 60)[0], "the child still holds the file open"
            assert words.read() == b""
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def test_a_program_ends_with_the_test_that_started_it() -> None:
    with contextlib.suppress(AssertionError), started(["sleep", "600"]) as process:
        raise AssertionError

    assert process.returncode == -signal.SIGTERM


def test_a_program_is_waited_for() -> None:
    line = ["sh", "-c", "echo said; echo warned >&2; exit 3"]
    done = run_to_end(line, 60)

    assert (done.returncode, done.stdout, done.stderr) == (3, "said\n", "warned\n")
