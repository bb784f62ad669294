# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma sweep` on real programs: sound ones, and variants with a fault planted in them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments.hca.sweep import CHECK, PLANTS, SOUND, Plant, planted

# The first faults of everything that occurs: enough for each plant.
RUNS_MAX = 14
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-n", "30"]


def swept(*words: str) -> tuple[int, str, str]:
    """Run a sweep; return its status and what it printed."""
    line = [sys.executable, "-m", "lanewise", "rdma", "sweep", "--timeout", "3s", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def found_in(program: str, words: Sequence[str]) -> tuple[int, list[dict[str, Any]]]:
    """Sweep a planted program; return the status and the findings."""
    options = ["--runs-max", str(RUNS_MAX), "--check", CHECK, "--json"]
    status, out, err = swept(*options, "--", program, *words)
    assert out, err
    return status, [run for run in json.loads(out)["runs"] if run["finding"]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the program in which faults are planted."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    return planted(tmp_path_factory.mktemp("planted"))


def often(name: str) -> list[pytest.MarkDecorator]:
    """Mark what repeats a way in which a program of every day ends."""
    return [pytest.mark.thorough] if name in {"unchecked", "skip", "unreliable"} else []


@pytest.mark.parametrize(
    "plant",
    [pytest.param(one, id=one.words[0], marks=often(one.words[0])) for one in PLANTS],
)
def test_a_planted_fault_is_found(program: str, plant: Plant) -> None:
    status, findings = found_in(program, plant.words)
    assert status == 1
    assert plant.ending in {run["ending"] for run in findings}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(one, id=name, marks=often(name))
        for one in SOUND
        for name in [" ".join(one) or "reliable"]
    ],
)
def test_nothing_is_found_in_a_sound_program(program: str, words: Sequence[str]) -> None:
    assert found_in(program, words) == (0, [])


def test_both_ends_run_and_what_is_found_goes_to_files(tmp_path: Path) -> None:
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip(f"no {PINGPONG[0]} here; install ibverbs-utils")
    junit, html = tmp_path / "sweep.xml", tmp_path / "sweep.html"
    files = ["--junit", str(junit), "--html", str(html), "--runs-max", "16", "--jobs", "1"]

    status, out, _ = swept(*files, "--server", " ".join(PINGPONG), "--", *PINGPONG, "{address}")

    # It returns from main without destroying anything where a request cannot be posted.
    assert status == 1
    rows = [" ".join(row.split()) for row in out.splitlines()]
    assert "ibv_reg_mr 1 of 1: ENOMEM clean error status 1: Couldn't register MR" in rows
    assert any(row.startswith("ibv_post_send 1 of 30: ENOMEM leak 1 ibv_context") for row in rows)
    assert "16 runs: " in out
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("16", "8")
    assert "Faults of ibv_rc_pingpong" in html.read_text()


def test_the_table_is_printed_even_if_a_file_cannot_be_written(program: str) -> None:
    status, out, err = swept("--runs-max", "1", "--junit", "/dev/full", "--", program)

    assert "1 run: " in out
    assert (status, "/dev/full could not be written: No space left" in err) == (1, True)


# Leaves a process in a session of its own that holds a port, as a daemon does.
LEAVES_A_DAEMON = """
import os, socket, sys, time
port = socket.create_server(("", 7777))
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(600)
os.execvp(sys.argv[1], sys.argv[1:])
"""
# Does something else from the second time on.
FIRST_TIME = 'if test -e "$0"; then {later}; fi; touch "$0"; exec "$1"'


def test_what_a_run_leaves_on_its_hosts_ends_with_it(program: str) -> None:
    words = ["--", sys.executable, "-c", LEAVES_A_DAEMON, program]

    status, out, err = swept("--jobs", "1", "--runs-max", "3", "--json", *words)

    assert status in (0, 1), err
    assert "not met" not in {run["ending"] for run in json.loads(out)["runs"]}


def test_a_sweep_in_which_no_run_came_to_its_fault_fails(program: str, tmp_path: Path) -> None:
    script = FIRST_TIME.format(later="echo broken; exit 3")
    words = ["--", "sh", "-c", script, str(tmp_path / "mark"), program]

    status, out, err = swept("--jobs", "1", "--runs-max", "2", *words)

    assert status == 1
    assert "it did not reach the fault: status 3: broken" in out
    assert "no run reached its fault, so nothing was tested" in err


def interrupted_once(path: Path, *words: str) -> tuple[int, str]:
    """Interrupt a sweep once a file is there; return its status and what it said."""
    line = [sys.executable, "-m", "lanewise", "rdma", "sweep", "--timeout", "600s", "--jobs", "1"]
    with subprocess.Popen([*line, *words], stderr=subprocess.PIPE, text=True) as process:
        deadline_s = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline_s:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


def test_an_interrupt_waits_for_no_program(program: str, tmp_path: Path) -> None:
    mark, runs = tmp_path / "mark", tmp_path / "runs"
    script = FIRST_TIME.format(later=f"touch {runs}; exec sleep 600")

    ended = interrupted_once(runs, "--", "sh", "-c", script, str(mark), program)

    assert ended == (130, "lanewise rdma sweep: stopped\n")


def test_an_interrupt_waits_for_no_check(program: str, tmp_path: Path) -> None:
    mark, runs = tmp_path / "mark", tmp_path / "runs"
    check = tmp_path / "check.sh"
    check.write_text(f"if test -e {mark}; then touch {runs}; sleep 600; fi; touch {mark}\n")

    ended = interrupted_once(runs, "--check", f"sh {check}", "--", program)

    assert ended == (130, "lanewise rdma sweep: stopped\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--", "false"], "false ends with status 1 without faults"),
        (["--", "true"], "true uses no RDMA device"),
        (["--timeout", "1s", "--", "sleep", "9"], "sleep does not end in 1 s without faults"),
        (["--check", "no-such-check"], "no program 'no-such-check'; name its path"),
        (["--check", "'"], "--check ': No closing quotation; close what is quoted"),
        ([], "no program; say: lanewise rdma sweep -- PROGRAM"),
    ],
)
def test_what_cannot_be_swept_is_refused(words: list[str], says: str) -> None:
    words = words if "--" in words or not words else [*words, "--", "true"]
    status, _, err = swept("--jobs", "1", *words)
    assert status == 2
    assert says in err


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ("grep -q nothing", "the check ends with status 1 without faults"),
        ("sleep 60", "the check does not end in 3 s without faults; raise --timeout"),
    ],
)
def test_a_check_that_fails_without_faults_is_refused(program: str, check: str, says: str) -> None:
    status, _, err = swept("--check", check, "--", program)
    assert status == 2
    assert says in err
