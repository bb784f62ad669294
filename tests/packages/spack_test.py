# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe gives options that CMake knows, and needs what CMake looks for.

Spack itself comes from a Git repository, which no test fetches: the recipe is read, not built.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
BUILD = CMAKE + "".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "cmake").glob("*.cmake"))
)
REPOSITORY = ROOT / "packaging/spack/spack_repo/lanewise"
RECIPE = ast.parse((REPOSITORY / "packages/lanewise/package.py").read_text(encoding="utf-8"))
# What Spack 1.0 has moved out of spack.package, and where to.
MOVED = dict.fromkeys(("CMakePackage", "generator"), "spack_repo.builtin.build_systems.cmake")
# The names of CMake's packages, and how Spack calls them.
PACKAGES = {"MPI": "mpi", "nlohmann_json": "nlohmann-json", "Boost": "boost"}
LIBRARIES = {"libibverbs": "rdma-core", "librdmacm": "rdma-core", "libxxhash": "xxhash"}


def first_words(function: str) -> list[str]:
    """Return the first argument of each call of a function or method of this name."""
    calls = [node for node in ast.walk(RECIPE) if isinstance(node, ast.Call)]
    named = [call for call in calls if ast.unparse(call.func).rpartition(".")[2] == function]
    return [ast.literal_eval(call.args[0]) for call in named]


def test_each_option_of_the_recipe_is_one_of_cmake() -> None:
    given = first_words("define")

    known = set(re.findall(r"\b(?:option|set)\((\w+)", BUILD))
    assert len(given) > 5
    assert set(given) <= known


def test_the_recipe_needs_the_versions_that_cmake_does() -> None:
    needed = dict(re.findall(r"find_package\((\w+) ([\d.]+) REQUIRED\b", BUILD))
    (needed["cmake"],) = re.findall(r"cmake_minimum_required\(VERSION ([\d.]+)\)", CMAKE)
    wanted = dict(re.findall(r"^([\w-]+)@([\d.]+):", "\n".join(first_words("depends_on")), re.M))

    assert set(PACKAGES) < set(needed)
    for name, version in needed.items():
        assert wanted.get(PACKAGES.get(name, name)) == version, name


@pytest.mark.parametrize("name", re.findall(r"find_package\((\w+)|check_modules\((\w+)", CMAKE))
def test_each_library_that_cmake_looks_for_is_in_the_recipe(name: tuple[str, str]) -> None:
    spelled = {"CLI11": "cli11", "GTest": "googletest", "PkgConfig": "pkgconfig", **PACKAGES,
               **LIBRARIES}  # fmt: skip
    without = {"Threads", "benchmark"}  # of the C library; for benchmarks, which it leaves out

    library = name[0] or name[1]
    depended = {re.split(r"[@+]", one)[0] for one in first_words("depends_on")}

    assert library in without or spelled.get(library, library) in depended


def test_the_folder_is_a_repository_by_the_name_that_its_description_has() -> None:
    described = (REPOSITORY / "repo.yaml").read_text(encoding="utf-8")

    # Of the second version of the interface, folders are modules of Python: spack_repo.lanewise.
    assert re.findall(r"^  (\w+): (\S+)$", described, re.M) == [
        ("namespace", REPOSITORY.name),
        ("api", "v2.0"),
    ]
    assert [path.name for path in (REPOSITORY / "packages").iterdir()] == ["lanewise"]


def test_what_spack_has_in_a_module_of_its_own_is_imported_from_there() -> None:
    imported = {
        alias.name: node.module
        for node in ast.walk(RECIPE)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    used = {node.id for node in ast.walk(RECIPE) if isinstance(node, ast.Name)}

    assert set(MOVED) <= used
    assert {name: imported.get(name) for name in MOVED} == MOVED
