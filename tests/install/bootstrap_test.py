# SPDX-License-Identifier: BSD-3-Clause
"""`packaging/bootstrap.sh` asks for what is missing, on a Debian that the test makes up."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
TOOLS = ("sh", "sed", "sort", "tr", "grep", "ls", "dirname", "cat", "env")


@pytest.fixture
def debian(tmp_path: Path) -> Path:
    """Return the only folder of PATH, on a Debian where apt-get says what it installs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(str(shutil.which(name)))
    put(tools / "apt-get", 'echo "apt-get $*"')
    put(tools / "apt-cache", "true")
    return tools


def put(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def bootstrap(
    debian: Path, user: int, *missing: str, groups: tuple[str, ...] = ("build",)
) -> tuple[int, str]:
    """Bootstrap groups as a user where packages are missing; return status and output."""
    listed = (PACKAGING / "apt-packages.txt").read_text(encoding="utf-8")
    packages = re.findall(rf"^(?:{'|'.join(groups)}) (\S+)", listed, re.MULTILINE)
    assert set(missing) <= set(packages)
    lines = [f"echo installed {one}" for one in packages if one not in missing]
    put(debian / "dpkg-query", "\n".join(lines))
    put(debian / "id", f"echo {user}")
    done = subprocess.run(
        [PACKAGING / "bootstrap.sh", *groups], env={"PATH": str(debian)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_without_root_nobody_has_to_ask_for_the_cache_of_the_compiler(debian: Path) -> None:
    assert bootstrap(debian, 1000, "ccache") == (0, "")


def test_without_root_programs_of_another_origin_serve(debian: Path) -> None:
    for name in ("cmake", "ninja", "pkg-config"):
        put(debian / name, "true")

    assert bootstrap(debian, 1000, "cmake", "ninja-build", "pkg-config") == (0, "")


@pytest.mark.parametrize(
    ("mpi", "packages", "macro"),
    [
        ("openmpi", ("libopenmpi-dev", "openmpi-bin"), "OPEN_MPI 1"),
        ("mpich", ("libmpich-dev", "mpich"), 'MPICH_VERSION "4.0.2"'),
    ],
)
def test_without_root_an_mpi_of_another_origin_serves_if_it_is_of_the_family(
    debian: Path, mpi: str, packages: tuple[str, ...], macro: str
) -> None:
    groups = ("build", mpi)
    put(debian / "mpirun", "true")
    for defined, lacking in ((macro, ()), ("OTHER_MPI 1", packages)):
        put(debian / "mpicc", f"echo '#define {defined}'")

        status, said = bootstrap(debian, 1000, *packages, groups=groups)

        assert said.rpartition("apt-get install ")[2].split() == list(lacking)
        assert status == (2 if lacking else 0)


def test_without_root_the_packages_that_the_build_lacks_are_named(debian: Path) -> None:
    put(debian / "cmake", "true")

    status, said = bootstrap(debian, 1000, "ccache", "cmake", "ninja-build", "libfmt-dev")

    assert status == 2
    assert "neither root nor sudo is available" in said
    assert said.splitlines()[-1].split() == ["apt-get", "install", "ninja-build", "libfmt-dev"]


def test_root_installs_all_that_is_missing(debian: Path) -> None:
    put(debian / "cmake", "true")

    status, said = bootstrap(debian, 0, "ccache", "cmake")

    assert status == 0
    assert said.splitlines()[-1].split()[-2:] == ["cmake", "ccache"]
