# SPDX-License-Identifier: BSD-3-Clause
"""What `cmake --install` lays down serves projects outside of the source tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
CONSUMER = Path(__file__).parent / "consumer"
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()

MPIRUN = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "2"]
LINKED = {"SHARED_LIBRARY", "MODULE_LIBRARY", "EXECUTABLE"}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def call(*command: object, **environment: str) -> str:
    """Run a command and return what it printed; its errors become the failure's text."""
    words = [str(word) for word in command]
    told = {**os.environ, **AS_ROOT, **environment}
    done = subprocess.run(words, env=told, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which the release build was installed, then moved.

    Moved, because an installed tree that names the folder it was first put into fails here and
    not on the cluster where somebody unpacks it.
    """
    folder = tmp_path_factory.mktemp("installed")
    call("cmake", "--install", BUILD, "--prefix", folder / "first")
    return (folder / "first").rename(folder / "lanewise")


def expect_measurement(program: Path, **environment: str) -> None:
    """Run `program` on two ranks and expect the line of consumer/main.c."""
    version, ranks, median_s = call(*MPIRUN, program, **environment).split()

    assert (version, ranks) == (VERSION, "2")
    assert 0 < float(median_s) < 1


def test_find_package_serves_another_project(prefix: Path, tmp_path: Path) -> None:
    wanted = VERSION.rpartition(".")[0]
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED={wanted}", "-G", "Ninja"]

    call("cmake", "-S", CONSUMER, "-B", tmp_path, *options)
    call("cmake", "--build", tmp_path)

    expect_measurement(tmp_path / "consumer")


def test_find_package_names_the_language_that_a_project_lacks(prefix: Path, tmp_path: Path) -> None:
    project = "cmake_minimum_required(VERSION 3.16)\nproject(outer LANGUAGES CXX)\n"
    (tmp_path / "CMakeLists.txt").write_text(f"{project}find_package(lanewise REQUIRED)\n")
    line = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "add C to the LANGUAGES of project()" in " ".join(done.stderr.split())


def test_find_package_refuses_another_mpi_than_it_was_built_for(
    prefix: Path, tmp_path: Path
) -> None:
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("no mpicc.mpich; install libmpich-dev")
    words = ["cmake", "-S", str(CONSUMER), "-B", str(tmp_path), f"-DCMAKE_PREFIX_PATH={prefix}"]
    anew = [*words, "-DWANTED=", "-U", "MPI_*"]

    for compiler, is_found in (
        ("mpicc.mpich", False), ("mpicc.openmpi", True), ("mpicc.mpich", False)
    ):  # fmt: skip
        line = [*anew, f"-DMPI_C_COMPILER={compiler}"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)

        said = " ".join(done.stderr.split())
        assert (done.returncode == 0) is is_found, said
        assert ("it was built for Open MPI" in said) is not is_found
        assert ("MPI_C_COMPILER set to the compiler of openmpi" in said) is not is_found


def test_pkg_config_serves_another_project(prefix: Path, tmp_path: Path) -> None:
    (described,) = prefix.rglob("lanewise.pc")
    found = {"PKG_CONFIG_PATH": str(described.parent)}
    flags = call("pkg-config", "--cflags", "--libs", "lanewise", **found).split()
    program = tmp_path / "consumer"

    call("mpicc.openmpi", "-o", program, CONSUMER / "main.c", *flags)

    expect_measurement(program, LD_LIBRARY_PATH=str(described.parents[1]))
    assert call("pkg-config", "--modversion", "lanewise", **found).strip() == VERSION


def test_the_library_has_a_name_with_the_version_that_programs_are_linked_with(
    prefix: Path,
) -> None:
    version = VERSION.rpartition(".")[0]

    for name in ("liblanewise", "liblanewise_paths"):
        (library,) = prefix.rglob(f"{name}.so")
        assert f"[{name}.so.{version}]" in call("readelf", "--dynamic", library)


def test_a_prefix_takes_no_second_mpi(prefix: Path, tmp_path: Path) -> None:
    (described,) = prefix.rglob("lanewise.pc")
    other = tmp_path / described.relative_to(prefix)
    other.parent.mkdir(parents=True)
    other.write_text(described.read_text().replace("(built for openmpi)", "(built for mpich)"))

    line = ["cmake", "--install", str(BUILD), "--prefix", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "has Lanewise for mpich" in " ".join(done.stderr.split())
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [other]


def test_a_prefix_takes_the_same_mpi_again(tmp_path: Path) -> None:
    for _ in range(2):
        call("cmake", "--install", BUILD, "--prefix", tmp_path)


def test_the_module_of_fortran_serves_another_project(prefix: Path, tmp_path: Path) -> None:
    if shutil.which("mpif90.openmpi") is None:
        pytest.skip("no mpif90.openmpi; install gfortran and libopenmpi-dev")
    (module,) = prefix.rglob("lanewise.f90")
    (library,) = prefix.rglob("liblanewise.so")
    program = tmp_path / "measure_bcast"
    found = [f"-L{library.parent}", "-llanewise", f"-J{tmp_path}"]

    call("mpif90.openmpi", module, ROOT / "examples/measure_bcast.f90", "-o", program, *found)

    told = call(*MPIRUN, program, LD_LIBRARY_PATH=str(library.parent))
    assert "rank 1 received the sum 12288.0" in told


LINK_IN_CXX = """
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C CXX)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(lanewise REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE lanewise::lanewise {others})
"""


@pytest.mark.parametrize(
    ("others", "statement"), [("", "MPI_Init(0, 0)"), ("MPI::MPI_CXX", "MPI::Init()")]
)
def test_a_program_in_cxx_has_the_bindings_of_open_mpi_if_it_is_linked_with_them(
    prefix: Path, tmp_path: Path, others: str, statement: str
) -> None:
    folder, *_ = call("mpicc.openmpi", "--showme:incdirs").split()
    if "OMPI_BUILD_CXX_BINDINGS 1" not in Path(folder, "mpi.h").read_text(encoding="utf-8"):
        pytest.skip("this Open MPI has no C++ bindings")
    (tmp_path / "CMakeLists.txt").write_text(LINK_IN_CXX.format(others=others), encoding="utf-8")
    source = f"#include <lanewise/measure.h>\nint main() {{ {statement}; return !lw_version(); }}\n"
    (tmp_path / "main.cpp").write_text(source, encoding="utf-8")

    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", tmp_path / "build")


USE_PATHS = """
#include <lanewise/paths.h>
#include <stdio.h>

int main(void) {
    printf("%s: %s\\n", lw_version(), lw_status_text(lw_paths_open(NULL, NULL, NULL)));
    return 0;
}
"""
LINK_PATHS = """
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES CXX)
find_package(lanewise REQUIRED COMPONENTS paths)
add_executable(use_paths use_paths.cpp)
target_link_libraries(use_paths PRIVATE lanewise::paths)
"""
# A program that calls verbs itself, as those do that have queue pairs to protect.
CALL_VERBS = USE_PATHS.replace("return 0", "return ibv_node_type_str(IBV_NODE_CA) == NULL")


def test_the_library_of_paths_has_what_its_headers_declare(prefix: Path, tmp_path: Path) -> None:
    (header,) = prefix.rglob("paths.h")
    (library,) = prefix.rglob("liblanewise_paths.so")
    source = tmp_path / "use_paths.c"
    source.write_text(USE_PATHS, encoding="utf-8")
    program = tmp_path / "use_paths"

    call("cc", f"-I{header.parents[1]}", source, "-o", program,
         f"-L{library.parent}", "-llanewise_paths")  # fmt: skip

    told = call(program, LD_LIBRARY_PATH=str(library.parent))
    assert told == f"{VERSION}: a value cannot be used\n"


def test_find_package_serves_the_library_of_paths_without_an_mpi(
    prefix: Path, tmp_path: Path
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LINK_PATHS, encoding="utf-8")
    (tmp_path / "use_paths.cpp").write_text(CALL_VERBS, encoding="utf-8")
    build = tmp_path / "build"
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"]

    call("cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", *options)
    call("cmake", "--build", build)

    assert call(build / "use_paths") == f"{VERSION}: a value cannot be used\n"


def test_find_package_brings_both_libraries_unasked(prefix: Path, tmp_path: Path) -> None:
    both = LINK_PATHS.replace(" COMPONENTS paths", "").replace("CXX)", "C CXX)")
    linked = both.replace("lanewise::paths", "lanewise::paths lanewise::lanewise")
    (tmp_path / "CMakeLists.txt").write_text(linked, encoding="utf-8")
    (tmp_path / "use_paths.cpp").write_text(CALL_VERBS, encoding="utf-8")

    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


def test_find_package_brings_the_library_for_mpi_where_paths_are_optional(
    prefix: Path, tmp_path: Path
) -> None:
    optional = LINK_PATHS.replace("REQUIRED COMPONENTS", "REQUIRED OPTIONAL_COMPONENTS")
    linked = optional.replace("CXX)", "C CXX)").replace("lanewise::paths", "lanewise::lanewise")
    (tmp_path / "CMakeLists.txt").write_text(linked, encoding="utf-8")
    (tmp_path / "use_paths.cpp").write_text(CALL_VERBS, encoding="utf-8")

    call("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


@pytest.mark.parametrize(
    ("component", "message"),
    [
        ("paths", "built with LANEWISE_MPI_FREE=OFF, so it has no lanewise::paths"),
        ("path", "it has no component 'path'; the only one is paths"),
    ],
)
def test_find_package_says_why_a_component_is_missing(
    prefix: Path, tmp_path: Path, component: str, message: str
) -> None:
    less = shutil.copytree(prefix, tmp_path / "less", symlinks=True)
    for targets in less.rglob("lanewise-paths-targets*.cmake"):
        targets.unlink()
    project = LINK_PATHS.replace("COMPONENTS paths", f"COMPONENTS {component}")
    (tmp_path / "CMakeLists.txt").write_text(project, encoding="utf-8")
    line = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={less}"]

    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_find_package_says_what_the_library_of_paths_lacks(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LINK_PATHS, encoding="utf-8")
    line = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    nothing = {**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path)}

    done = subprocess.run(line, env=nothing, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "lanewise::paths needs libibverbs, which pkg-config" in " ".join(done.stderr.split())


def test_pkg_config_serves_the_library_of_paths(prefix: Path, tmp_path: Path) -> None:
    (described,) = prefix.rglob("lanewise-paths.pc")
    source, program = tmp_path / "use_paths.c", tmp_path / "use_paths"
    source.write_text(CALL_VERBS, encoding="utf-8")
    flags = call("pkg-config", "--cflags", "--libs", "lanewise-paths",
                 PKG_CONFIG_PATH=str(described.parent)).split()  # fmt: skip

    call("cc", source, "-o", program, *flags)

    told = call(program, LD_LIBRARY_PATH=str(described.parents[1]))
    assert told == f"{VERSION}: a value cannot be used\n"


def test_predictions_need_no_mpi_to_be_started(prefix: Path, tmp_path: Path) -> None:
    (described,) = prefix.rglob("lanewise.pc")
    flags = call("pkg-config", "--cflags", "--libs", "lanewise",
                 PKG_CONFIG_PATH=str(described.parent)).split()  # fmt: skip
    program = tmp_path / "halo_time"
    call("mpicc.openmpi", "-o", program, ROOT / "examples/halo_time.c", *flags)
    found = {**os.environ, "LD_LIBRARY_PATH": str(described.parents[1])}

    line = [str(program), "missing.json", "8", "1024"]
    refused = subprocess.run(line, env=found, capture_output=True, text=True, check=False)

    assert refused.returncode == 1
    assert "missing.json" in refused.stderr


def test_the_installed_program_runs_where_it_was_moved_to(prefix: Path) -> None:
    (program,) = prefix.rglob("lanewise-measure")

    assert VERSION in call(program, "--version")


def test_no_program_of_an_experiment_is_installed(prefix: Path) -> None:
    declared = [
        name
        for path in (ROOT / "experiments").glob("*/CMakeLists.txt")
        for name in re.findall(r"lw_add_experiment\((\S+)", path.read_text(encoding="utf-8"))
    ]
    installed = {path.name for path in prefix.rglob("lanewise-*")}

    assert len(declared) > 5
    assert installed.isdisjoint(declared)


def test_nothing_of_the_source_tree_is_named_in_what_is_installed(prefix: Path) -> None:
    described = [*prefix.rglob("*.pc"), *prefix.rglob("*.cmake"), *prefix.rglob("*.json")]

    naming = [path.name for path in described if str(ROOT) in path.read_text(encoding="utf-8")]

    assert described
    assert naming == []


def test_as_a_subproject_only_the_library_comes_in(tmp_path: Path) -> None:
    outer = Path(__file__).parent / "subproject"

    told = call("cmake", "-S", outer, "-B", tmp_path, "-G", "Ninja", f"-DLANEWISE_SOURCE={ROOT}")

    targets = re.findall(r"^-- target (\S+) is of type (\S+)$", told, re.M)
    assert [name for name, kind in targets if kind in LINKED] == ["lanewise"]
    assert "BUILD_SHARED_LIBS" not in (tmp_path / "CMakeCache.txt").read_text()


# Sets the loopback interface up and becomes the command that follows. Open MPI's compiler wrapper
# complains on standard output where there is no interface at all, and CMake believes it.
WITH_LOOPBACK = """
import fcntl, os, socket, struct, sys
up = struct.pack("16sh14x", b"lo", 1)
fcntl.ioctl(socket.socket(), 0x8914, up)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def without_network() -> list[str]:
    """Return the words that run a command without network, as root or as anybody; else skip."""
    for privilege in ([], ["--map-root-user"]):
        alone = ["unshare", *privilege, "--net", sys.executable, "-c", WITH_LOOPBACK]
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0:
            return alone
    pytest.skip("this kernel does not let users make network namespaces")


def test_configuring_needs_no_network(tmp_path: Path) -> None:
    call(*without_network(), "cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja")
