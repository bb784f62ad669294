# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the command share: running it for real, programs, and user operations."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.launch.choose import executable_of
from lanewise.launch.native import build_for, find_builds, find_program
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.tuned import LIBRARY, build_of

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1]))

from power_cut import build_recorder
from tuned_job import FAMILIES, Compile, Job, Run, launch_line, why_apart

from processes import run_to_end

ROOT = Path(__file__).parents[2]
# The fixtures that name an MPI.
MPIS = ("mpi", "real_mpi", "launcher")
PROGRAMS = Path(__file__).with_name("run_programs")
REAL_LAUNCHERS = ("openmpi", "mpich", "smpi")
TIMEOUT_S = 120
PLATFORM_RANKS = 4

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


def why_not(launcher: str) -> str:
    """Return why a launcher cannot run here, empty where it can."""
    if executable_of(LAUNCHERS[launcher], os.environ) is None:
        return f"{launcher} is not installed; install {LAUNCHERS[launcher].package}"
    if build_for(LAUNCHERS[launcher], find_builds(os.environ)) is None:
        return f"{launcher} has no native build; make build"
    apart = why_apart(launcher)
    return f"{launcher}: {apart}" if apart else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as thorough what repeats under another MPI than Open MPI a test that is for any."""
    for item in items:
        if item.get_closest_marker("one_mpi") and isinstance(item, pytest.Function):
            named = {item.callspec.params[name] for name in MPIS if name in item.callspec.params}
            if named - {"openmpi"}:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library that records what programs write and sync."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler; install build-essential")
    return build_recorder(tmp_path_factory.mktemp("recorder"))


def ranks_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ranks of MPICH that wait leave their core to others, as an option of Open MPI does.

    They poll without end otherwise, which takes most of the time of several ranks on two cores.
    """
    library = build_of("mpich", os.environ).libraries / "liblw_give_way.so"
    if library.is_file():  # it is built with the tests
        monkeypatch.setenv("LD_PRELOAD", str(library), prepend=":")


@pytest.fixture(params=REAL_LAUNCHERS)
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give each launcher that runs real ranks here."""
    name = str(request.param)
    if why_not(name):
        pytest.skip(why_not(name))
    if name == "mpich":
        ranks_give_way(monkeypatch)
    return name


@pytest.fixture(params=("openmpi", "mpich"))
def real_mpi(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give each launcher whose ranks are processes."""
    name = str(request.param)
    if why_not(name):
        pytest.skip(why_not(name))
    if name == "mpich":
        ranks_give_way(monkeypatch)
    return name


def parameter(value: float) -> dict[str, float]:
    return {"value": value, "low": value, "high": value}


def write_platform(path: Path, ranks: int) -> None:
    """Write a platform of so many ranks on which a message of M bytes takes 10 us and M ns."""
    links = [
        {"ranks": [i, j], "latency_s": parameter(1e-5), "s_per_byte": parameter(1e-9)}
        for i in range(ranks)
        for j in range(i + 1, ranks)
    ]
    hockney = {
        "links": links,
        "held_out": {"points": 0, "relative_rms": 0.0},
        "residuals": [],
    }
    fingerprint = {
        "mpi": {"family": "openmpi", "library": "by hand"},
        "launcher": "openmpi",
        "kernel": "6.1",
        "cpus": ["0"] * ranks,
        "settings": {},
    }
    path.write_text(
        json.dumps(
            {
                "schema": "lanewise-platform",
                "version": 2,
                "lanewise": "0.1.0",
                "created": "2026-11-21T16:00:00Z",
                "ranks": ranks,
                "hosts": [f"host{rank}" for rank in range(ranks)],
                "fingerprint": fingerprint,
                "best": "hockney",
                "models": {"hockney": hockney},
            }
        ),
        encoding="utf-8",
    )


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """Write a platform of four ranks."""
    path = tmp_path / "platform.json"
    write_platform(path, PLATFORM_RANKS)
    return path


@pytest.fixture(scope="session")
def abi_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with MPICH by the name of its ABI, which Debian leaves out and mpi4py needs."""
    folder = tmp_path_factory.mktemp("abi")
    for build in (one for one in find_builds(os.environ) if one.mpi == "mpich"):
        words = ["ldd", build.libraries / "liblanewise.so"]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"libmpich\.so\.12 => (\S+)", told):
            (folder / "libmpi.so.12").symlink_to(path)
    return folder


@pytest.fixture
def job(tmp_path: Path, abi_names: Path) -> Job:
    """Give the function that runs a script in Python as the ranks of a job, with mpi4py."""
    pytest.importorskip("mpi4py", reason="no mpi4py; pip install 'lanewise[dev]'")

    def run(family: str, ranks: int, text: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "job.py"
        script.write_text(text, encoding="utf-8")
        return run_to_end(
            [*launch_line(family, ranks), sys.executable, str(script)], TIMEOUT_S, cwd=tmp_path,
            # What lets ranks of MPICH give way finds it only where a program is linked with it.
            env={**os.environ, "MPI4PY_MPIABI": family, "LD_LIBRARY_PATH": str(abi_names),
                 "LD_PRELOAD": ""},
        )  # fmt: skip

    return run


@pytest.fixture
def sweeps_built() -> None:
    """Skip a test of sweeps in Python where the native part is not built."""
    try:
        find_program("lanewise-wavefront", os.environ)
    except RequestError as error:
        pytest.skip(str(error))


@pytest.fixture
def native() -> Lanewise:
    """Give the function that runs the native program of sweeps."""
    try:
        program = find_program("lanewise-wavefront", os.environ)
    except RequestError as error:
        pytest.skip(str(error))

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        line = [str(program), *map(str, arguments)]
        return run_to_end(line, TIMEOUT_S)

    return run


@pytest.fixture
def smpi() -> str:
    """Give the launcher of simulated clusters."""
    if why_not("smpi"):
        pytest.skip(why_not("smpi"))
    return "smpi"


@pytest.fixture
def lanewise(tmp_path: Path) -> Lanewise:
    """Give the function that runs the command in an empty folder."""
    reasons = [why_not(name) for name in REAL_LAUNCHERS]
    if all(reasons):
        pytest.skip(reasons[0])

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "lanewise", *map(str, arguments)]
        return run_to_end(words, TIMEOUT_S, cwd=tmp_path)

    return run


@pytest.fixture(scope="session")
def user_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library of user operations beside this file, against Open MPI."""
    if why_not("openmpi"):
        pytest.skip(why_not("openmpi"))
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if compiler is None:
        pytest.skip("no MPI compiler; install libopenmpi-dev")
    library = tmp_path_factory.mktemp("user") / "libuser.so"
    source = Path(__file__).with_name("user_operations.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(source), "-o", str(library)],
        check=True,
    )
    return library


@pytest.fixture(params=FAMILIES)
def mpi(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give each MPI that has a launcher and a library to load."""
    family = str(request.param)
    if executable_of(LAUNCHERS[family], os.environ) is None:
        pytest.skip(f"{family} has no launcher here; install {LAUNCHERS[family].package}")
    builds = [build for build in find_builds(os.environ) if build.mpi == family]
    if not any((build.libraries / LIBRARY).is_file() for build in builds):
        pytest.skip(f"{family} has no {LIBRARY}; make build")
    if why_not(family):
        pytest.skip(why_not(family))
    if family == "mpich":
        ranks_give_way(monkeypatch)
    return family


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Give the function that compiles a program once: by family, language or wrapper, and words."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_once(family: str, wrapper: str, words: str) -> Path:
        compiler = shutil.which(f"{wrapper}.{family}") or shutil.which(wrapper)
        if compiler is None or (wrapper == "mpif90" and shutil.which("gfortran") is None):
            pytest.skip(f"no {wrapper} of {family}; install its development package and gfortran")
        # A file's name holds at most 255 bytes, which the words of a build can exceed.
        built_from = hashlib.sha256(f"{family} {wrapper} {words}".encode()).hexdigest()
        program = folder / built_from[:16]
        if not program.exists():
            # Modules of Fortran go where the program goes.
            modules = [f"-J{folder}"] if wrapper == "mpif90" else []
            line = [compiler, *words.split(), *modules, "-o", str(program)]
            subprocess.run(line, cwd=PROGRAMS, check=True)
        return program

    return compile_once


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give the function that runs a launch line on a tuning file, with a report."""

    def run_tuned(
        line: list[str],
        file: dict[str, Any] | str,
        *options: str,
        report: bool = True,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        text = file if isinstance(file, str) else json.dumps(file)
        (tmp_path / "tuning.json").write_text(text, encoding="utf-8")
        ours = ["--tuning", "tuning.json", *options]
        if report:
            ours += ["--report", "report.json"]
        return run_to_end(
            [sys.executable, "-m", "lanewise", "run", *ours, "--", *line], TIMEOUT_S, cwd=tmp_path,
            env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **variables},
        )  # fmt: skip

    return run_tuned
