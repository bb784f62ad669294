# SPDX-License-Identifier: BSD-3-Clause
"""What a trial launch concludes from the words of the native program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.launch.choose import Choice
from lanewise.launch.examine import LauncherFound, find_launcher
from lanewise.launch.native import find_builds
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.trial import fault_in, why_ranks_are_apart, why_ranks_do_not_start

ALONE = (
    "MPI has 1 rank where PMI_SIZE promises 2; start it with the mpirun of mpich, or srun "
    "--mpi=pmix, of the MPI it was built for"
)


def test_ranks_that_are_alone_have_a_launcher_that_speaks_another_pmi_than_the_library() -> None:
    assert fault_in(ALONE) == (
        "of 2 processes that it started, each says that it is alone "
        "(MPI has 1 rank where PMI_SIZE promises 2): launcher and MPI library speak different PMI"
    )


def test_other_words_of_the_program_are_the_fault_itself() -> None:
    assert fault_in("cannot write samples.jsonl") == "cannot write samples.jsonl"
    assert not fault_in("")


def put(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    path.chmod(0o755)


def machine(folder: Path, barrier: str) -> dict[str, str]:
    """Give the environment of a machine with an MPICH that starts `barrier`, whatever it is."""
    put(folder / "bin/mpiexec", '[ $1 = --version ] && echo HYDRA || { shift 2; exec "$@"; }')
    put(folder / "build/bin/lanewise-measure", barrier)
    put(folder / "build/bin/lanewise-native", barrier)
    manifest = {
        "mpi": "mpich", "mpi_version": "MPICH 4.0", "build_type": "Release",
        "version": "0.1.0", "bin": "bin", "lib": "lib",
    }  # fmt: skip
    (folder / "build/lanewise-build.json").write_text(json.dumps(manifest), encoding="ascii")
    return {"PATH": f"{folder}/bin", "LANEWISE_NATIVE": f"{folder}/build"}


def found_in(environment: dict[str, str]) -> tuple[Choice, LauncherFound]:
    launcher, builds = LAUNCHERS["mpich"], find_builds(environment)
    found = find_launcher(launcher, builds, environment)
    return Choice(launcher, found.executable, builds[0]), found


def test_a_barrier_that_crashes_is_no_reason_to_skip_a_test(tmp_path: Path) -> None:
    choice, found = found_in(machine(tmp_path, "kill -SEGV $$"))

    assert why_ranks_are_apart(choice) == ""
    assert why_ranks_do_not_start(choice) == "its ranks do not start: it said nothing"
    assert found.fault == why_ranks_do_not_start(choice)


def test_a_barrier_that_ends_well_leaves_nothing_to_say(tmp_path: Path) -> None:
    choice, found = found_in(machine(tmp_path, "true"))

    assert (why_ranks_are_apart(choice), why_ranks_do_not_start(choice)) == ("", "")
    assert (found.usable, found.fault, found.remedies) == (True, "", ())


@pytest.mark.parametrize(
    "said", ["unable to find network interfaces", "lanewise-measure: no memory is left"]
)
def test_what_fails_for_a_reason_that_the_launcher_does_not_know_has_a_line_to_try(
    tmp_path: Path, said: str
) -> None:
    _, found = found_in(machine(tmp_path, f"echo {said}; exit 1"))

    assert said.removeprefix("lanewise-measure: ") in found.fault
    (remedy,) = found.remedies
    native = tmp_path / "build/bin/lanewise-native"
    assert remedy == (
        f"see what fails with: {tmp_path}/bin/mpiexec -n 2 {native} measure barrier --repetitions 1"
    )


def test_ranks_that_are_alone_have_another_mpi_as_their_remedy(tmp_path: Path) -> None:
    _, found = found_in(machine(tmp_path, f"echo 'lanewise-measure: {ALONE}'; exit 2"))

    assert "speak different PMI" in found.fault
    assert found.remedies[0].startswith("use Open MPI with --launcher openmpi")
