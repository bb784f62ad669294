# SPDX-License-Identifier: BSD-3-Clause
"""A program in the foreground gets the signals, and what they meant before is put back."""

import os
import pty
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.foreground import (
    IGNORED_BY_PYTHON,
    SILENCE_S,
    TAKEN,
    Foreground,
    become,
    in_foreground,
)

A_SLEEP = """
import os, signal, sys
from lanewise.launch.foreground import in_foreground
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.exit(in_foreground(["sh", "-c", "echo started; exec sleep 60"], dict(os.environ)))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_command_ends_the_program_that_it_runs(number: signal.Signals) -> None:
    command = [sys.executable, "-c", A_SLEEP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "started\n"

        started.send_signal(number)

        assert started.wait(timeout=20) == 128 + signal.SIGTERM


TOLD_OF_A_SIGNAL = """
import os, signal, sys
from lanewise.launch.foreground import in_foreground
signal.signal(signal.SIG{name}, signal.SIG_DFL)
script = "trap 'exit 7' {name}; echo started; while :; do sleep 0.01; done"
sys.exit(in_foreground(["sh", "-c", script], dict(os.environ)))
"""


@pytest.mark.parametrize("name", ["USR1", "USR2", "QUIT", "ALRM", "XCPU"])
def test_a_signal_that_a_batch_system_warns_by_reaches_the_program(name: str) -> None:
    command = [sys.executable, "-c", TOLD_OF_A_SIGNAL.format(name=name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "started\n"

        started.send_signal(signal.Signals[f"SIG{name}"])

        assert started.wait(timeout=20) == 7


IN_THE_BACKGROUND = """
import os, signal, sys
from lanewise.launch.foreground import in_foreground
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.exit(in_foreground(["sh", "-c", "kill -INT $$; exit 3"], dict(os.environ)))
"""


def test_an_interrupt_that_is_ignored_is_ignored_by_the_program_too() -> None:
    command = [sys.executable, "-c", IN_THE_BACKGROUND]

    assert subprocess.run(command, check=False, timeout=20).returncode == 3


def test_the_former_handlers_are_put_back() -> None:
    before = {number: signal.getsignal(number) for number in TAKEN}

    status = in_foreground(["sh", "-c", "exit 3"], os.environ)

    assert status == 3
    assert {number: signal.getsignal(number) for number in TAKEN} == before


def test_a_signal_before_the_start_of_a_program_reaches_it() -> None:
    with Foreground() as foreground:
        signal.raise_signal(signal.SIGUSR1)

        status = foreground.run(["sleep", "60"], os.environ)

    assert (status, foreground.arrived) == (128 + signal.SIGUSR1, [signal.SIGUSR1])


A_PROGRAM_INSTEAD = """
import os
from lanewise.launch.foreground import become
become("grep", ["grep", "SigIgn", "/proc/self/status"], os.environ)
"""


def test_a_program_in_the_place_of_python_ignores_no_more_signals_than_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", A_PROGRAM_INSTEAD], capture_output=True, text=True, check=True
    )

    ignored = int(done.stdout.split()[1], 16)
    assert not [number.name for number in IGNORED_BY_PYTHON if ignored & 1 << number - 1]


def test_a_program_that_cannot_take_the_place_leaves_all_as_it_was() -> None:
    before = [signal.getsignal(number) for number in IGNORED_BY_PYTHON]

    with pytest.raises(RequestError, match="/none/app could not be started: No such file"):
        become("/none/app", ["app"], os.environ)

    assert [signal.getsignal(number) for number in IGNORED_BY_PYTHON] == before


TWO_READERS = """
import os, sys
from lanewise.launch.foreground import Foreground, repeated_stdin
with repeated_stdin() as stdin, Foreground() as foreground:
    for _ in range(2):
        foreground.run(sys.argv[1:], os.environ, stdin=stdin())
"""


def test_each_of_several_programs_reads_a_file_from_the_same_place(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("skipped\nread\n")

    with path.open("rb", buffering=0) as file:
        file.seek(len("skipped\n"))
        done = subprocess.run([sys.executable, "-c", TWO_READERS, "cat"], stdin=file,
                              capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stdout == "read\nread\n"


def test_each_of_several_programs_reads_all_of_a_pipe() -> None:
    said = "a line\n" * 100_000

    done = subprocess.run([sys.executable, "-c", TWO_READERS, "cat"], input=said,
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stdout == 2 * said
    assert done.stderr == ""


def with_little_space() -> None:
    """Let no file become larger than ten bytes, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))


@pytest.mark.parametrize("bytes_written", [11, 1 << 20])
def test_standard_input_for_which_there_is_no_space_is_an_error_that_says_so(
    bytes_written: int,
) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", TWO_READERS, "cat"], input="." * bytes_written,
        capture_output=True, text=True, check=False, preexec_fn=with_little_space,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"lanewise.errors.RunError: standard input could not be kept in {tempfile.gettempdir()}: "
        "File too large; free space there, or set TMPDIR"
    )


def test_standard_input_that_fails_is_an_error_of_reading() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    accepted, _ = server.accept()
    # Closed with a lingering time of 0 s, a connection is reset.
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    accepted.close()

    done = subprocess.run([sys.executable, "-c", TWO_READERS, "cat"], stdin=client.fileno(),
                          capture_output=True, text=True, check=False)  # fmt: skip

    assert done.stderr.splitlines()[-1] == (
        "lanewise.errors.RunError: standard input could not be read: Connection reset by peer"
    )
    client.close()
    server.close()


def test_a_pipe_on_which_nothing_comes_has_nothing_for_any_program_and_a_line_says_so() -> None:
    silent, writer = os.pipe()

    done = subprocess.run([sys.executable, "-c", TWO_READERS, "wc", "-c"], stdin=silent,
                          capture_output=True, text=True, check=True, timeout=60)  # fmt: skip

    assert done.stdout == "0\n0\n"
    assert done.stderr == (
        "lanewise: nothing came on standard input within 1 s, so the runs get none; "
        "give a file with < FILE if the program reads it\n"
    )
    os.close(silent)
    os.close(writer)


def test_a_pipe_on_which_something_came_is_read_to_its_end() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TWO_READERS, "cat"], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as started:  # fmt: skip
        assert started.stdin is not None
        started.stdin.write("early\n")
        started.stdin.flush()
        time.sleep(2 * SILENCE_S)

        said, told = started.communicate("late\n")

    assert said == 2 * "early\nlate\n"
    assert told == ""


@pytest.mark.parametrize("redirection", ["<&-", "0> file", "0> /dev/null"])
def test_a_standard_input_that_cannot_be_read_has_nothing(redirection: str, tmp_path: Path) -> None:
    line = f'exec "$0" -c "$1" wc -c {redirection}'

    done = subprocess.run(["sh", "-c", line, sys.executable, TWO_READERS], cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert (done.stdout, done.stderr) == ("0\n0\n", "")


def test_a_terminal_stays_the_standard_input_of_several_programs() -> None:
    controller, terminal = pty.openpty()

    done = subprocess.run([sys.executable, "-c", TWO_READERS, "tty"], stdin=terminal,
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stdout == 2 * f"{os.ttyname(terminal)}\n"
    os.close(controller)
    os.close(terminal)
