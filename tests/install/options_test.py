# SPDX-License-Identifier: BSD-3-Clause
"""Options of CMake: libraries and folders of another prefix, and what cannot be built.

Trees are configured here and not built.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What the names of the headers of each library begin with.
LIBRARIES = {
    "libibverbs": "infiniband/",
    "librdmacm": "rdma/",
    "liburing": "liburing.h",
    "xxhash": "xxhash.h",
    "nlohmann_json": "nlohmann/",
    "CLI11": "CLI/",
    "fmt": "fmt/",
    "Boost": "boost/",
}
# The targets of those that have a package for CMake; of the others, most have one for pkg-config.
TARGETS = {
    "nlohmann_json": ("nlohmann_json::nlohmann_json",),
    "CLI11": ("CLI11::CLI11",),
    "fmt": ("fmt::fmt", "fmt::fmt-header-only"),
    "Boost": ("Boost::headers",),
}
PACKAGE = """\
foreach(target {targets})
  add_library(${{target}} INTERFACE IMPORTED)
  set_property(TARGET ${{target}} PROPERTY INTERFACE_INCLUDE_DIRECTORIES {prefix}/include)
endforeach()
set({name}_INCLUDE_DIRS {prefix}/include)
"""
VERSION_OF_PACKAGE = "set(PACKAGE_VERSION 99.0.0)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
LESS = [f"-DLANEWISE_{part}=OFF" for part in ("EXAMPLES", "EXPERIMENTS", "MPI_FREE")]
_INCLUDED = re.compile(r'^#include (?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def configure(folder: Path, *options: object) -> tuple[int, str]:
    """Configure a tree; return the status and what CMake said, each space one blank."""
    words = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options]
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@dataclass(frozen=True)
class Elsewhere:
    """A tree that was configured with libraries in prefixes of their own, and own folders."""

    build: Path
    prefixes: dict[str, Path]
    folders: dict[str, Path]


def plant_library(prefix: Path, name: str) -> None:
    """Make a prefix that has a library, as far as it is looked for."""
    place = prefix / "include" / LIBRARIES[name]
    place.parent.mkdir(parents=True)
    place.touch()
    if name in TARGETS:
        package = prefix / "lib/cmake" / name
        package.mkdir(parents=True)
        described = PACKAGE.format(name=name, prefix=prefix, targets=" ".join(TARGETS[name]))
        (package / f"{name}Config.cmake").write_text(described, encoding="utf-8")
        (package / f"{name}ConfigVersion.cmake").write_text(VERSION_OF_PACKAGE, encoding="utf-8")
    elif name != "xxhash":
        package = prefix / "lib/pkgconfig"
        package.mkdir(parents=True)
        (package / f"{name}.pc").write_text(
            f"Name: {name}\nDescription: of a test\nVersion: 99\n"
            f"Cflags: -I{prefix}/include\nLibs: -L{prefix}/lib -l{name.removeprefix('lib')}\n",
            encoding="utf-8",
        )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """Configure a tree whose libraries and folders are where nobody looks unasked."""
    folder = tmp_path_factory.mktemp("elsewhere")
    prefixes = {name: folder / name for name in LIBRARIES}
    for name, prefix in prefixes.items():
        plant_library(prefix, name)
    folders = {"LIBDIR": folder / "own/lib64", "INCLUDEDIR": folder / "own/include"}
    status, said = configure(
        folder / "build",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"-DCMAKE_PREFIX_PATH={';'.join(map(str, prefixes.values()))}",
        *(f"-DCMAKE_INSTALL_{name}={path}" for name, path in folders.items()),
    )
    assert status == 0, said
    return Elsewhere(folder / "build", prefixes, folders)


def headers_of(source: Path, known: dict[Path, set[str]]) -> set[str]:
    """Return the headers of the system that a source includes, itself or through others of ours."""
    if source in known:
        return known[source]
    found = known[source] = set()
    for pair in _INCLUDED.findall(source.read_text(encoding="utf-8")):
        (name,) = filter(None, pair)
        places = [source.parent, ROOT / "src", ROOT / "include", ROOT]
        ours = [place / name for place in places if (place / name).is_file()]
        found |= headers_of(ours[0], known) if ours else {name}
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_source_finds_the_headers_of_a_library_in_its_own_prefix(
    elsewhere: Elsewhere, library: str
) -> None:
    compiled = json.loads((elsewhere.build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = {Path(one["file"]): one["command"] for one in compiled}
    known: dict[Path, set[str]] = {}

    needing = [
        source for source in sources if ROOT in source.parents
        and any(name.startswith(LIBRARIES[library]) for name in headers_of(source, known))
    ]  # fmt: skip

    assert needing
    folder = f" {elsewhere.prefixes[library]}/include "
    assert [str(one) for one in needing if folder not in sources[one]] == []


def test_pkg_config_tells_folders_outside_of_the_prefix_as_they_are(elsewhere: Elsewhere) -> None:
    where = {**os.environ, "PKG_CONFIG_PATH": str(elsewhere.build)}

    for variable, name in (("libdir", "LIBDIR"), ("includedir", "INCLUDEDIR")):
        asked = ["pkg-config", f"--variable={variable}", "lanewise"]
        said = subprocess.run(asked, env=where, capture_output=True, text=True, check=True).stdout
        assert said.strip() == str(elsewhere.folders[name])


def test_a_static_library_is_refused_since_nothing_would_say_how_to_link_it(tmp_path: Path) -> None:
    status, said = configure(tmp_path, "-DBUILD_SHARED_LIBS=OFF")

    assert status != 0
    assert "BUILD_SHARED_LIBS is OFF, but liblanewise is installed as a shared library" in said


@pytest.mark.parametrize(("options", "build_type"), [((), "Release"), (("Debug",), "Debug")])
def test_a_tree_is_optimised_unless_somebody_names_another_build_type(
    options: tuple[str, ...], build_type: str, tmp_path: Path
) -> None:
    status, said = configure(tmp_path, *(f"-DCMAKE_BUILD_TYPE={one}" for one in options), *LESS)

    assert status == 0, said
    manifest = json.loads((tmp_path / "lanewise-build.json").read_text(encoding="utf-8"))
    assert manifest["build_type"] == build_type


@pytest.mark.parametrize("value", ["MPICH", ""])
def test_a_misspelt_mpi_is_refused_and_not_taken_for_another_one(
    tmp_path: Path, value: str
) -> None:
    status, said = configure(tmp_path, f"-DLANEWISE_MPI={value}", *LESS)

    assert status != 0
    assert f"LANEWISE_MPI is '{value}'; name auto, openmpi, mpich or smpi" in said


def put_mpi(folder: Path, mpi: str) -> Path:
    """Make a folder whose compiler wrappers and launcher have plain names, as a module's have."""
    folder.mkdir()
    for name in ("mpicc", "mpicxx", "mpiexec"):
        named = shutil.which(f"{name}.{mpi}")
        if named is None:
            pytest.skip(f"no {name}.{mpi}; install what packaging/apt-packages.txt names for {mpi}")
        (folder / name).write_text(f'#!/bin/sh\nexec {named} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("first", ["openmpi", "mpich"])
def test_the_mpi_that_is_first_on_path_is_taken_if_it_is_of_the_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    debian = Path(str(shutil.which("mpicc.openmpi"))).parent
    module = put_mpi(tmp_path / "module", first)
    monkeypatch.setenv("PATH", f"{module}{os.pathsep}{os.environ['PATH']}")

    status, said = configure(tmp_path / "build", "-DLANEWISE_MPI=openmpi", *LESS)

    assert status == 0, said
    kept = (tmp_path / "build/CMakeCache.txt").read_text(encoding="utf-8")
    found = [
        re.findall(rf"^LANEWISE_{name}:FILEPATH=(.*)$", kept, re.MULTILINE)
        for name in ("MPICC", "MPICXX", "MPIEXEC")
    ]
    folder, ending = (module, "") if first == "openmpi" else (debian, ".openmpi")
    assert found == [[f"{folder}/{name}{ending}"] for name in ("mpicc", "mpicxx", "mpiexec")]


def test_an_mpi_that_is_only_among_the_flags_of_the_user_is_known(tmp_path: Path) -> None:
    if shutil.which("mpicc.openmpi") is None:
        pytest.skip("no mpicc.openmpi; install libopenmpi-dev")
    asked = ["mpicc.openmpi", "--showme:incdirs"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    flags = " ".join(f"-I{folder}" for folder in said.split())
    linked = "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed -lmpi"

    status, said = configure(tmp_path, f"-DCMAKE_C_FLAGS={flags}", linked, *LESS)

    assert status == 0, said
    assert "Lanewise for Open MPI" in said


def test_an_mpi_whose_header_cannot_be_read_stops_with_what_the_compiler_says(
    tmp_path: Path,
) -> None:
    compiler = tmp_path / "clang"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *-E*mpi_family.c)\n'
        'echo "called with $*" >&2; exec clang "$@" -nostdinc ;; esac\n'
        'exec clang "$@"\n', encoding="utf-8",
    )  # fmt: skip
    compiler.chmod(0o755)
    target = f"{platform.machine()}-linux-gnu"
    given = {"C_COMPILER": compiler, "C_FLAGS": "-DOWN", "SYSROOT": "/",
             "C_COMPILER_TARGET": target}  # fmt: skip

    status, said = configure(
        tmp_path / "build", *(f"-DCMAKE_{name}={value}" for name, value in given.items()), *LESS
    )

    assert status != 0
    assert "-E cannot read the mpi.h of this MPI" in said
    (words,) = re.findall(r"called with ([^;]*)", said)
    assert {"-DOWN", "--sysroot=/", f"--target={target}"} <= set(words.split())


@pytest.mark.parametrize(
    ("compiler", "macro", "version"),
    [("c++", "__GNUC__", "GNU 11"), ("clang++", "__clang_major__", "Clang 13")],
)
def test_a_compiler_that_is_too_old_is_named_with_what_is_needed(
    tmp_path: Path, compiler: str, macro: str, version: str
) -> None:
    older = tmp_path / compiler
    claim = f"-U{macro} -D{macro}={version.split()[1]}"
    older.write_text(f'#!/bin/sh\nexec {compiler} {claim} "$@"\n', encoding="utf-8")
    older.chmod(0o755)

    status, said = configure(tmp_path / "build", f"-DCMAKE_CXX_COMPILER={older}", *LESS)

    assert status != 0
    assert f"{older} is {version}." in said
    assert "Lanewise needs GCC 12 or Clang 14, or newer; name one with CMAKE_CXX_COMPILER" in said


def test_an_mpiexec_that_was_mended_is_asked_again(tmp_path: Path) -> None:
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("no mpicc.mpich; install libmpich-dev")
    launcher = tmp_path / "mpiexec"
    options = ["-DLANEWISE_MPI=mpich", f"-DLANEWISE_MPIEXEC={launcher}", *LESS]

    for age_s, ranks, apart in ((20, 1, "ON"), (10, 2, "OFF")):
        launcher.write_text(f"#!/bin/sh\necho of {ranks}; echo of {ranks}\n", encoding="utf-8")
        launcher.chmod(0o755)
        changed_s = launcher.stat().st_mtime - age_s
        os.utime(launcher, (changed_s, changed_s))

        status, said = configure(tmp_path / "build", *options)

        assert status == 0, said
        kept = (tmp_path / "build/CMakeCache.txt").read_text(encoding="utf-8")
        assert f"LANEWISE_RANKS_APART:BOOL={apart}\n" in kept


def test_no_flag_of_the_user_takes_liberties_with_numbers_whose_bits_are_promised(
    tmp_path: Path,
) -> None:
    status, said = configure(
        tmp_path, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_CXX_FLAGS=-ffast-math"
    )

    assert status == 0, said
    compiled = json.loads((tmp_path / "compile_commands.json").read_text(encoding="utf-8"))
    words = {Path(one["file"]): one["command"].split() for one in compiled}
    promising = [one for one in words if ROOT / "src/sums" in one.parents]
    promising += [
        ROOT / "src/wavefront" / name for name in ("kernel/builtin.cpp", "run/finite.cpp")
    ]
    assert ROOT / "src/sums/mpi/exact_reduction.cpp" in promising
    for source in promising:
        of_math = [word for word in words[source] if "fast-math" in word or "contract" in word]
        assert of_math[:2] == ["-ffast-math", "-fno-fast-math"], source
    # A library that is linked with it changes how its whole process computes.
    linked = re.findall(
        r"^build lib/liblanewise\S*\.so\.\S*:.*\n(?:  .*\n)*?  LINK_FLAGS = (.*)$",
        (tmp_path / "build.ninja").read_text(encoding="utf-8"), re.MULTILINE,
    )  # fmt: skip
    assert linked
    assert all("-fno-fast-math" in flags.split() for flags in linked)


@pytest.mark.parametrize("name", ["combine_loops", "nearest_loops", "plain_arithmetic"])
@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only"])
def test_a_compiler_that_takes_liberties_with_exact_sums_is_stopped(name: str, flag: str) -> None:
    command = ["c++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'src'}", "-x", "c++", "-"]
    text = f'#include "sums/{name}.hpp"\n'

    strict, loose = (
        subprocess.run([*command, word], input=text, capture_output=True, text=True, check=False)
        for word in ("-fno-fast-math", flag)
    )

    assert strict.returncode == 0, strict.stderr
    assert loose.returncode != 0
    assert "compile with -fno-fast-math behind other flags" in loose.stderr
