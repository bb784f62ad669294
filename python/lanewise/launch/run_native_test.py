# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a launch that failed."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice
from lanewise.launch.job import Job
from lanewise.launch.native import NativeBuild
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.run import Outcome
from lanewise.launch.run_native import (
    ask_program,
    failure_of,
    require_success,
    run_native,
    says_why,
    words_of,
)

HERE = Path()
BUILD = NativeBuild(HERE, "openmpi", "4.1", "Release", "", "0", HERE, HERE)
CHOICE = Choice(LAUNCHERS["openmpi"], "/usr/bin/mpirun", BUILD)
COMPLAINT = "lanewise-measure: no such operation"


def ended(status: int, *lines: str, started: bool = False) -> Outcome:
    return Outcome(status, started, output=deque(lines))


def test_an_argument_with_a_nul_is_refused() -> None:
    with pytest.raises(RequestError, match="an argument cannot contain a NUL character, as in 'a"):
        ask_program(Path("/bin/echo"), ["b", "a\0b"])
    with pytest.raises(RequestError, match="an argument cannot contain a NUL character, as in 'a"):
        run_native(CHOICE, Job(("a\0b",), 1, "/bin/echo", "openmpi"))


def test_what_the_program_refuses_is_a_usage_error_in_its_words() -> None:
    failure = failure_of(CHOICE, ended(2, "noise", COMPLAINT), "nothing is kept")

    assert isinstance(failure, RequestError)
    assert str(failure) == "no such operation"


def test_what_fails_later_says_what_is_kept() -> None:
    failure = failure_of(CHOICE, ended(1, COMPLAINT, started=True), "3 points are kept")

    assert isinstance(failure, RunError)
    assert str(failure) == "no such operation (3 points are kept)"


@pytest.mark.parametrize(
    ("started", "said"),
    [
        (True, "a rank died: mpirun ended with status 139 3 points are kept"),
        (False, "the ranks did not start: mpirun ended with status 139; lanewise doctor may say"),
    ],
)
def test_without_a_sentence_the_last_lines_come_along(*, started: bool, said: str) -> None:
    lines = [f"line {number}" for number in range(30)]

    failure = failure_of(CHOICE, ended(139, *lines, started=started), "3 points are kept")

    assert str(failure).startswith(said)
    assert failure.details == tuple(lines[-10:])


def test_a_launch_that_does_not_start_says_what_earlier_ones_left() -> None:
    quiet = failure_of(CHOICE, ended(1), "0 points are kept", "launch 1 is kept")
    refused = failure_of(CHOICE, ended(2, COMPLAINT), "0 points are kept", "launch 1 is kept")

    assert str(quiet) == (
        "the ranks did not start: mpirun ended with status 1; launch 1 is kept; "
        "lanewise doctor may say why"
    )
    assert isinstance(refused, RunError)
    assert str(refused) == "no such operation (launch 1 is kept)"


def test_a_program_without_events_is_not_said_to_have_started_or_not() -> None:
    require_success(CHOICE, ended(0))
    with pytest.raises(RunError, match=r"^mpirun ended with status 1$"):
        require_success(CHOICE, ended(1))


def test_a_program_outside_of_mpi_complains_with_its_status(tmp_path: Path) -> None:
    program = tmp_path / "lanewise-fit"
    program.write_text("#!/bin/sh\necho lanewise-fit: no samples >&2\nexit $1\n")
    program.chmod(0o755)

    with pytest.raises(RequestError, match=r"^no samples$"):
        ask_program(program, ["2"])
    with pytest.raises(RunError, match=r"^no samples$"):
        ask_program(program, ["1"])


def test_what_an_mpi_says_of_its_own_insides_is_left_out() -> None:
    lines = [
        "[host:1] [[2685,0],0] ORTE_ERROR_LOG: Out of resource in file show_help.c at line 507",
        "[warn] Epoll MOD(1) on fd 23 failed. Old events were 6; read change was 0 (none)",
        "----------------------------------",
        "  mca_bml_base_open() failed",
    ]

    assert words_of(ended(1, *lines)) == "mca_bml_base_open() failed"
    assert says_why(ended(1, *lines))
    assert not says_why(ended(1, *lines[:-1]))
    assert says_why(ended(2, "lanewise-measure: no such buffer"))


@pytest.mark.parametrize(("asked", "waits_s"), [(None, "0"), ("3", "3")])
def test_mpirun_ends_ranks_without_a_pause_unless_the_user_wants_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None, waits_s: str
) -> None:
    name = "OMPI_MCA_odls_base_sigkill_timeout"
    if asked is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, asked)
    mpirun = tmp_path / "mpirun"
    mpirun.write_text(f"#!/bin/sh\necho ${name}\n", encoding="utf-8")
    mpirun.chmod(0o755)
    job = Job(("lanewise-measure",), 2, str(mpirun), "openmpi")

    outcome = run_native(CHOICE, job)

    assert list(outcome.output) == [waits_s]
