# SPDX-License-Identifier: BSD-3-Clause
"""Whatever ends an experiment, no program that it started is left, nor what that one started."""

import sys
from pathlib import Path

import pytest

from experiments.session import run_in_session
from lanewise.errors import RunError
from lanewise.launch.run import living_members

# Interrupts who started it, once it has said its number; it has a session of its own.
INTERRUPTING = 'echo $$ > "$0"; kill -INT $PPID; exec sleep 100'
# As `lanewise` and its launcher: only the first of them knows of the second, and ends it.
STARTING = """
import os, signal, subprocess, sys
def leave(*_):
    launcher.kill()
    sys.exit(1)
launcher = subprocess.Popen(["sleep", "100"], start_new_session=True)
open(sys.argv[1], "w").write(str(launcher.pid))
signal.signal(signal.SIGTERM, leave)
os.kill(os.getppid(), signal.SIGINT)
launcher.wait()
"""


def test_an_interrupt_leaves_nothing_of_a_program(tmp_path: Path) -> None:
    said = tmp_path / "number"

    with pytest.raises(KeyboardInterrupt):
        run_in_session(["sh", "-c", INTERRUPTING, str(said)])

    assert not Path("/proc", said.read_text().strip()).exists()


def test_an_interrupt_lets_a_program_end_what_has_a_session_of_its_own(tmp_path: Path) -> None:
    said = tmp_path / "number"

    with pytest.raises(KeyboardInterrupt):
        run_in_session([sys.executable, "-c", STARTING, str(said)])

    assert living_members(int(said.read_text())) == []


def test_a_program_that_takes_too_long_has_failed() -> None:
    with pytest.raises(RunError, match=r"sleep had not ended after 0\.1 s and was stopped"):
        run_in_session(["sleep", "100"], limit_s=0.1)


def test_a_program_that_is_not_there_has_failed() -> None:
    with pytest.raises(RunError, match="no-such-program could not be started"):
        run_in_session(["no-such-program"])


def test_what_a_program_wrote_is_told_by_stream_with_its_status(tmp_path: Path) -> None:
    words = 'pwd; echo "$WORD" >&2; exit 3'

    ended = run_in_session(["sh", "-c", words], {"WORD": "wrong"}, folder=tmp_path)

    assert (ended.status, ended.output, ended.complaints) == (3, f"{tmp_path}\n", "wrong\n")
