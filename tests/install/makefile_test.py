# SPDX-License-Identifier: BSD-3-Clause
"""`make build` builds for the MPIs that are asked for, and refuses what is none.

Make tells what it would do, in a folder that has the Makefile and nothing that is built.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FREE = "-DLANEWISE_MPI_FREE=ON"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with what the Makefile reads."""
    for name in ("Makefile", "VERSION", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Return the status of make and what it would do, or says."""
    return make_really(folder, "-n", *words, **environment)


def make_really(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Return the status of make, which does what it is asked for, and what it says."""
    without = ("MPI", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    told = {key: value for key, value in os.environ.items() if key not in without} | environment
    done = subprocess.run(
        ["make", *words], cwd=folder, env=told, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def configured_free(said: str) -> list[str]:
    """Return the trees that are configured to have what needs no MPI."""
    return re.findall(rf"cmake --preset (\w+) .*{FREE}", said)


@pytest.mark.parametrize(
    ("mpis", "tree"),
    [("mpich", ["mpich"]), ("openmpi mpich", ["release"]), ("smpi mpich", ["mpich"]), ("smpi", [])],
)
def test_one_tree_has_what_needs_no_mpi(folder: Path, mpis: str, tree: list[str]) -> None:
    status, said = make(folder, "build", f"MPI={mpis}")

    assert status == 0, said
    assert configured_free(said) == tree


@pytest.mark.parametrize(("value", "times"), [("OFF", 1), ("ON", 0)])
def test_a_tree_that_was_built_beside_another_one_gets_what_needs_no_mpi(
    folder: Path, value: str, times: int
) -> None:
    plant_tree(folder / "build/mpich", value)

    status, said = make(folder, "programs-mpich", "MPI=mpich")

    assert status == 0, said
    assert said.count(f"cmake {FREE} build/mpich") == times


def test_a_tree_keeps_what_needs_no_mpi_when_tests_come(folder: Path) -> None:
    plant_tree(folder / "build/mpich", "ON")

    status, said = make(folder, "tests-mpich", "MPI=openmpi mpich")

    assert status == 0, said
    assert configured_free(said) == ["mpich"]


def plant_tree(tree: Path, value: str) -> None:
    """Make a build tree that was configured with or without what needs no MPI."""
    tree.mkdir(parents=True)
    (tree / "build.ninja").touch()
    (tree / "CMakeCache.txt").write_text(f"LANEWISE_MPI_FREE:BOOL={value}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("mpi", "reason"), [("openmpi5", "there is no MPI 'openmpi5'"), ("", "MPI is empty")]
)
def test_an_mpi_that_there_is_not_is_refused_before_anything_is_done(
    folder: Path, mpi: str, reason: str
) -> None:
    status, said = make(folder, "build", f"MPI={mpi}")

    assert status == 2
    assert reason in said
    assert "name one or more of openmpi, mpich and smpi" in said
    assert len(said.splitlines()) == 1


def test_the_demonstration_is_refused_where_no_real_mpi_is_asked_for(folder: Path) -> None:
    status, said = make(folder, "demo", "MPI=smpi")

    assert status == 2
    assert "make demo launches real ranks; name openmpi or mpich" in said
    assert len(said.splitlines()) == 1


def test_the_demonstration_runs_under_the_real_one_of_several_mpis(folder: Path) -> None:
    status, said = make(folder, "demo", "MPI=smpi mpich")

    assert status == 0, said
    assert re.search(r"examples.demo demo build/mpich/bin -- mpirun", said)


def test_what_does_not_build_for_an_mpi_does_not_mind_its_name(folder: Path) -> None:
    assert make(folder, "clean", "MPI=openmpi5")[0] == 0


def put(path: Path, script: str) -> None:
    """Make a program."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def without_mpi(folder: Path) -> Path:
    """Return a folder, for PATH, of what the Makefile calls but an MPI."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("make", "nproc", "sed", "grep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    return tools


@pytest.mark.parametrize(
    ("version", "tree", "launch"),
    [
        ("mpirun (Open MPI) 5.0.5", "release", "mpirun --oversubscribe"),
        ("HYDRA build details:", "mpich", "mpirun"),
    ],
)
def test_an_mpi_whose_launcher_has_the_plain_name_is_the_one_that_is_installed(
    folder: Path, without_mpi: Path, version: str, tree: str, launch: str
) -> None:
    put(without_mpi / "mpirun", f"echo '{version}'")

    status, said = make(folder, "demo", PATH=str(without_mpi))

    assert status == 0, said
    assert f"examples.demo demo build/{tree}/bin -- {launch}\n" in said.replace(" \n", "\n")


def test_the_demonstration_starts_with_the_launcher_of_the_mpi_that_is_built_for(
    folder: Path, without_mpi: Path
) -> None:
    put(without_mpi / "mpirun.openmpi", "echo 'mpirun.openmpi (Open MPI) 4.1.4'")
    put(without_mpi / "mpirun", "echo 'mpirun.openmpi (Open MPI) 4.1.4'")
    module = folder / "module"
    for version, launch in (("mpirun (Open MPI) 5.0.5", "mpirun"), ("HYDRA", "mpirun.openmpi")):
        put(module / "mpirun", f"echo '{version}'")

        status, said = make(folder, "demo", PATH=f"{module}{os.pathsep}{without_mpi}")

        assert status == 0, said
        assert f"examples.demo demo build/release/bin -- {launch} --oversubscribe\n" in said


def test_an_environment_that_could_not_be_made_is_made_again(folder: Path) -> None:
    put(folder / "packaging/bootstrap.sh", "true")
    python = folder / "tools/python"

    for status in (1, 0):
        made = f"mkdir -p .venv && touch .venv/pyvenv.cfg; exit {status}"
        put(python, f'[ "$1" = -c ] || {{ {made}; }}')

        ended, said = make_really(folder, f"system={python}", ".venv/pyvenv.cfg")

        assert (ended == 0) is (status == 0), said
        assert "Making a virtual environment" in said


def test_an_environment_that_an_older_make_left_without_pip_is_made_again(folder: Path) -> None:
    put(folder / "packaging/bootstrap.sh", "true")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/pyvenv.cfg").touch()
    python = folder / "tools/python"
    put(python, '[ "$1" = -c ] || touch .venv/bin/pip .venv/pyvenv.cfg')

    for times in (1, 0):
        status, said = make_really(folder, f"system={python}", ".venv/pyvenv.cfg")

        assert status == 0, said
        assert said.count("Making a virtual environment") == times


def put_python(path: Path, minor: int) -> None:
    """Make a Python 3 that knows its version, and says so of an environment."""
    script = f"import sys; sys.version_info = (3, {minor}); exec(sys.argv[1])"
    real = f"exec {sys.executable} -c '{script}' \"$2\""
    put(path, f'[ "$1" = -c ] || {{ echo made with {minor}; exit; }}\n{real}')


def test_the_environment_is_made_with_the_first_python_that_is_new_enough(folder: Path) -> None:
    put(folder / "packaging/bootstrap.sh", "true")
    for minor in (9, 12, 13):
        put_python(folder / f"tools/3.{minor}", minor)
    candidates = "tools/none tools/3.9 tools/3.12 tools/3.13"

    status, said = make_really(folder, f"pythons={candidates}", ".venv/pyvenv.cfg")

    assert status == 0, said
    assert "made with 12" in said


def test_a_python_that_is_too_old_is_refused_with_how_to_name_another(folder: Path) -> None:
    put(folder / "packaging/bootstrap.sh", "true")
    put_python(folder / "tools/3.9", 9)

    status, said = make_really(folder, "system=tools/3.9", ".venv/pyvenv.cfg")

    assert status == 2
    assert "tools/3.9 is no Python 3.10 or newer; name one: make system=python3.12 build" in said
