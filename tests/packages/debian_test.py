# SPDX-License-Identifier: BSD-3-Clause
"""The Debian package: built from this tree, it installs in an empty Debian and serves the command.

For make test-all, which installs debhelper.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lanewise

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
SCRIPT = ROOT / "packaging/debian/build.sh"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
NATIVE = "usr/libexec/lanewise/openmpi"
# Two cores that have never compiled this tree with Debian's flags.
TIMEOUT_S = 3000


def call(*command: object, **environment: str) -> str:
    """Run a command and return what it printed; its errors become the failure's text."""
    words = [str(word) for word in command]
    told = {**os.environ, **AS_ROOT, **environment}
    done = subprocess.run(
        words, env=told, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package as its script does; the home of the compiler's cache is kept."""
    if missing := [tool for tool in ("dpkg-buildpackage", "dh") if shutil.which(tool) is None]:
        pytest.skip(f"no {missing[0]}; install dpkg-dev and debhelper")
    folder = tmp_path_factory.mktemp("debian")
    cache = os.environ.get("CCACHE_DIR", str(Path.home() / ".cache/ccache"))
    call(SCRIPT, folder, CCACHE_DIR=cache)
    (built,) = folder.glob("*.deb")
    return built


@pytest.fixture(scope="session")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the package; nothing of it is installed on this machine."""
    root = tmp_path_factory.mktemp("root")
    call("dpkg-deb", "--extract", package, root)
    return root


def test_the_package_has_the_version_and_what_cmake_installs(package: Path, unpacked: Path) -> None:
    assert call("dpkg-deb", "--field", package, "Version").strip() == VERSION
    for name in ("lanewise-native", "liblanewise.so", "lanewise.pc", "lanewise.f90", "sum.hpp"):
        assert list(unpacked.rglob(name)), f"{name} is missing"


def test_the_package_depends_on_the_mpi_that_its_programs_call(package: Path) -> None:
    depends = call("dpkg-deb", "--field", package, "Depends")

    assert "openmpi-bin" in depends.strip().split(", ")
    assert re.search(r"\blibopenmpi\d+\b", depends)


def test_the_command_works_with_the_programs_of_the_package(unpacked: Path) -> None:
    command = [sys.executable, "-m", "lanewise"]
    native = {"LANEWISE_NATIVE": str(unpacked / NATIVE)}

    said = call(*command, "doctor", **native)
    measured = call(*command, "measure", "bcast", "-n", 2, "--sizes", 8, "--launches", 1,
                    "--launcher", "openmpi", **native)  # fmt: skip

    assert str(unpacked / NATIVE) in said.replace("\n", "")
    assert "bcast" in measured


def test_a_second_build_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    builder = tools / "dpkg-buildpackage"
    builder.write_text("#!/bin/sh\nls; touch left-over\n", encoding="utf-8")
    builder.chmod(0o755)
    found = {"PATH": f"{tools}:{os.environ['PATH']}"}

    said = [call(SCRIPT, tmp_path / "packages", **found) for _ in range(2)]

    assert "CMakeLists.txt" in said[0].split()
    assert said[1] == said[0]


def test_an_empty_debian_that_installs_the_package_can_measure(
    package: Path, tmp_path: Path
) -> None:
    release = platform.freedesktop_os_release()
    if release["ID"] != "debian":
        pytest.skip(f"the package is built for {release['ID']}, and the empty system is a Debian")
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("making an empty Debian needs root and mmdebstrap")
    mirror = "http://deb.debian.org/debian"
    program = f"/{NATIVE}/bin/lanewise-measure"
    launch = "mpirun --allow-run-as-root --oversubscribe -n 2"
    call(
        "mmdebstrap", "--quiet", "--variant=apt", '--aptopt=Acquire::Check-Valid-Until "false"',
        f"--customize-hook=copy-in {package} /tmp",
        f'--customize-hook=chroot "$1" apt-get install -qq --no-install-recommends '
        f"/tmp/{package.name} >/dev/null",
        f'--customize-hook=chroot "$1" {launch} {program} bcast --sizes 8 -o /samples.jsonl',
        f"--customize-hook=copy-out /samples.jsonl {tmp_path}",
        release["VERSION_CODENAME"], "/dev/null", mirror,
    )  # fmt: skip

    (point,) = lanewise.read(tmp_path / "samples.jsonl").to_dict("records")
    assert (point["operation"], point["message_bytes"]) == ("bcast", 8)
