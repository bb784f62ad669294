# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a transport that does not start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.launch.openmpi import BEFORE_KILL
from lanewise.suite.start import START_TRIES, Ranks, asked_of, find_out, measure_on, run_on
from lanewise.suite.transport import Transport


def test_a_transport_says_with_what_it_was_started() -> None:
    transport = Transport(
        "mine", "", "openmpi", "openmpi", ("--mca", "btl", "self,tcp"), {"A": "b c"}
    )

    assert asked_of(transport) == ", with 'A=b c' --mca btl self,tcp"
    assert asked_of(Transport("plain", "", "openmpi", "openmpi")) == ""


PAUSE = f"OMPI_MCA_{BEFORE_KILL}"
LIMIT_S = 20.0


@pytest.fixture
def ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ranks:
    """Give ranks of an Open MPI whose mpirun says how long it waits before it kills."""
    mpirun = f'#!/bin/sh\n[ $1 = --version ] && echo "Open MPI" || echo "waits ${PAUSE}"\n'
    (tmp_path / "mpirun").write_text(mpirun, encoding="ascii")
    (tmp_path / "mpirun").chmod(0o755)
    (tmp_path / "lanewise-measure").touch()
    build = {
        "mpi": "openmpi", "mpi_version": "Open MPI 4.1.4", "build_type": "Release",
        "version": "0.1.0", "bin": ".", "lib": ".",
    }  # fmt: skip
    (tmp_path / "lanewise-build.json").write_text(json.dumps(build), encoding="ascii")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))
    monkeypatch.delenv(PAUSE, raising=False)
    return Ranks(Transport("plain", "", "openmpi", "openmpi"), 1)


def test_programs_of_users_keep_the_time_that_mpirun_gives_them_to_end(ranks: Ranks) -> None:
    assert list(run_on(ranks, ["a.out"], LIMIT_S).output) == ["waits "]


def test_ranks_of_ours_are_ended_at_once(ranks: Ranks) -> None:
    assert list(measure_on(ranks, ["barrier"], LIMIT_S).output) == ["waits 0"]


def test_a_launch_that_fails_without_a_reason_is_made_again(ranks: Ranks, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    says = f"[ -s {tries} ] && echo no such transport; echo >> {tries}"
    mpirun = f'#!/bin/sh\n[ $1 = --version ] && echo "Open MPI" && exit\n{says}\nexit 1\n'
    (tmp_path / "mpirun").write_text(mpirun, encoding="ascii")

    assert find_out(ranks.transport, 1).why == "no such transport (status 1)"


def test_a_launch_that_never_gives_a_reason_is_not_made_for_ever(
    ranks: Ranks, tmp_path: Path
) -> None:
    tries = tmp_path / "tries"
    says = f"echo >> {tries}; echo ORTE_ERROR_LOG: lost"
    mpirun = f'#!/bin/sh\n[ $1 = --version ] && echo "Open MPI" && exit\n{says}\nexit 1\n'
    (tmp_path / "mpirun").write_text(mpirun, encoding="ascii")

    assert find_out(ranks.transport, 1).why == "ORTE_ERROR_LOG: lost (status 1)"
    assert len(tries.read_text()) == START_TRIES
