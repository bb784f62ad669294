# SPDX-License-Identifier: BSD-3-Clause
"""`pip install .` brings the command with its native programs, and works outside of the tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip(
    "scikit_build_core", reason="scikit-build-core is not installed; pip install -e '.[dev]'"
)

ROOT = Path(__file__).resolve().parents[2]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Two cores that have never compiled this tree need minutes, with the compiler's cache seconds.
BUILD_TIMEOUT_S = 800
TIMEOUT_S = 120

MPI = "openmpi"
NATIVE = f"libexec/lanewise/{MPI}"
NOT_TOLD = ("LANEWISE_NATIVE", "PYTHONPATH")
# The names by which CMake calls the compilers of build/release; the cache goes by the name, too.
COMPILERS = {"CC": "cc", "CXX": "c++"}
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def run(*command: object, cwd: Path, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    """Run a command as somebody does who knows nothing of the tree; return status and output."""
    environment = COMPILERS | os.environ | AS_ROOT
    told = {key: value for key, value in environment.items() if key not in NOT_TOLD}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=told, text=True, timeout=timeout_s,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def expect(*command: object, cwd: Path, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command that must end with status 0; return what it printed."""
    status, output = run(*command, cwd=cwd, timeout_s=timeout_s)
    assert status == 0, f"{command}\n{output}"
    return output


def backend(hook: str, folder: Path) -> Path:
    """Call a hook of the build backend, which puts a file into `folder`; return the file."""
    call = f"import sys, scikit_build_core.build as b; b.{hook}(sys.argv[1])"
    expect(sys.executable, "-c", call, folder, cwd=ROOT)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this tree.

    Built here and not in a copy, in a folder beside build/release: the compiler's cache knows a
    file by its place, and has those of build/release.
    """
    folder = tmp_path_factory.mktemp("wheel")
    settings = (f"cmake.define.LANEWISE_MPI={MPI}", f"build-dir={ROOT}/build/wheel")
    chosen = [f"--config-settings={setting}" for setting in settings]
    options = ("--no-build-isolation", "--no-deps", "--no-index", "-w", folder, *chosen)
    expect(*PIP, "wheel", *options, ROOT, cwd=folder, timeout_s=BUILD_TIMEOUT_S)
    (built,) = folder.glob("lanewise-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment with the wheel in it; what it depends on is borrowed."""
    folder = tmp_path_factory.mktemp("environment")
    expect(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    expect(*PIP, "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def names_in(wheel: Path) -> list[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_has_the_command_and_no_experiment(wheel: Path) -> None:
    names = names_in(wheel)

    assert "lanewise/cli/reproduce.py" in names
    assert "lanewise/suite/files/in.lj" in names
    assert "lanewise/py.typed" in names
    schemas = {f"lanewise/schema/{path.name}" for path in (ROOT / "schema").iterdir()}
    assert schemas <= set(names)
    assert any(name.endswith(".data/data/share/man/man1/lanewise-measure.1") for name in names)
    assert [name for name in names if "experiment" in name or name.endswith("_test.py")] == []


def test_a_wheel_has_each_native_file_once(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = [one.file_size for one in archive.infolist() if one.file_size > 100_000]

    assert len(sizes) == len(set(sizes)) > 5


def test_doctor_is_ready_with_what_was_installed(environment: Path, tmp_path: Path) -> None:
    told = json.loads(expect(environment / "bin/lanewise", "doctor", "--json", cwd=tmp_path))

    found = {one["name"]: one for one in told["launchers"]}
    assert found[MPI]["usable"]
    assert found[MPI]["native"].startswith(str(environment / NATIVE))


def test_the_installed_command_measures(environment: Path, tmp_path: Path) -> None:
    options = ("-n", "2", "--sizes", "8", "--repetitions", "10", "--launcher", MPI)

    expect(environment / "bin/lanewise", "measure", "scatter", *options, "--launches", "1",
           "-o", "samples.jsonl", cwd=tmp_path)  # fmt: skip

    records = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    (point,) = [record for record in records if record["record"] == "point"]
    assert len(point["samples_s"]) == 10


def test_each_subcommand_is_a_program_too(environment: Path, tmp_path: Path) -> None:
    programs = environment / NATIVE / "bin"
    usage = expect(programs / "lanewise-native", "--help", cwd=tmp_path)
    subcommands = [line.split()[0] for line in usage.splitlines() if line.startswith("  ")]

    for name in subcommands:
        alone = run(programs / f"lanewise-{name}", "--help", cwd=tmp_path)
        assert alone == run(programs / "lanewise-native", name, "--help", cwd=tmp_path)
    assert len(subcommands) > 8


def test_every_installed_library_finds_those_that_it_needs(
    environment: Path, tmp_path: Path
) -> None:
    native = environment / NATIVE
    libraries = [*native.glob("lib/*.so"), *environment.glob("lib/*.so")]

    needed = expect("ldd", native / "bin/lanewise-native", *libraries, cwd=tmp_path)

    assert len(libraries) > 5
    assert "not found" not in needed


def test_the_library_has_no_version_in_its_name_as_the_promises_say(
    environment: Path, tmp_path: Path
) -> None:
    page = " ".join((ROOT / "docs/promises.md").read_text(encoding="utf-8").split())
    assert "The library that `pip` installs has no version in its `SONAME`" in page

    for name in ("liblanewise.so", "liblanewise_paths.so"):
        said = expect("readelf", "--dynamic", environment / "lib" / name, cwd=tmp_path)
        assert f"Library soname: [{name}]" in said


def test_python_sweeps_with_the_installed_library(environment: Path, tmp_path: Path) -> None:
    sweep = """
import numpy as np
from lanewise import wavefront

solution, right_side = np.zeros((8, 8)), np.ones((8, 8))
wavefront.run([solution, right_side], "sor", iterations=3)
loaded = [line.split()[-1] for line in open("/proc/self/maps") if "liblanewise.so" in line]
print(bool(solution.any()), *set(loaded))
"""

    printed = expect(environment / "bin/python", "-c", sweep, cwd=tmp_path)

    assert printed.split() == ["True", str(environment / "lib/liblanewise.so")]


def test_a_build_that_fails_names_the_remedy(tmp_path: Path) -> None:
    nothing = f"--config-settings=cmake.define.CMAKE_CXX_COMPILER={tmp_path}/none"
    options = ("--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, nothing)

    status, output = run(*PIP, "wheel", *options, ROOT, cwd=tmp_path)

    assert status != 0
    assert "lanewise: the native programs could not be built" in output
    assert list(tmp_path.glob("*.whl")) == []


def test_an_editable_install_builds_nothing(tmp_path: Path) -> None:
    names = names_in(backend("build_editable", tmp_path))

    assert any(name.endswith(".pth") for name in names)
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    built = ("lanewise/", f"lanewise-{version}.data/")
    assert [name for name in names if name.startswith(built)] == []


def test_a_source_archive_has_every_file_of_the_tree(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0 or not listed.stdout:
        pytest.skip("git has no list of the files here; run this in a clone")

    with tarfile.open(backend("build_sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    tracked = {name for name in listed.stdout.split("\n") if name and (ROOT / name).is_file()}
    assert tracked - names == set()
