# SPDX-License-Identifier: BSD-3-Clause
"""What an examination says of the native programs that are used here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise import __version__
from lanewise.launch.examine import examine
from lanewise.launch.native import MANIFEST, MEASURE


def advice_on(folder: Path, **values: str) -> str:
    """Return the advice on the one build of a machine, whose manifest has `values`."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / MEASURE).touch()
    manifest = {
        "mpi": "openmpi", "mpi_version": "Open MPI 4.1.4", "build_type": "Release",
        "version": __version__, "bin": "bin", "lib": "lib", **values,
    }  # fmt: skip
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    machine = {"PATH": str(folder / "none"), "LANEWISE_NATIVE": str(folder)}
    return "\n".join(one for one in examine(machine).advice if str(folder.parent) in one)


def test_libraries_that_cannot_be_preloaded_are_named_with_what_cuts_their_path(
    tmp_path: Path,
) -> None:
    assert advice_on(tmp_path / "build") == ""

    advice = advice_on(tmp_path / "my programs")

    assert "/my programs/lib cannot be preloaded: LD_PRELOAD cuts it at a space;" in advice
    assert advice_on(tmp_path / "my simulation", mpi="smpi") == ""


def test_a_link_to_libraries_that_cannot_be_preloaded_does_not_serve_tune(tmp_path: Path) -> None:
    (tmp_path / "my programs").mkdir()
    link = tmp_path / "build"
    link.symlink_to(tmp_path / "my programs")

    advice = advice_on(link)

    assert advice.startswith(f"lanewise tune cannot load libraries: {tmp_path}/my programs/lib ")
    assert advice.count("\n") == 0


@pytest.mark.parametrize(
    ("build_type", "named"),
    [(kind, f"with the build type {kind}") for kind in ("Debug", "debug")]
    + [("", "without a build type")],
)
def test_programs_that_are_not_optimised_are_named_with_the_remedy(
    build_type: str, named: str, tmp_path: Path
) -> None:
    advice = advice_on(tmp_path / "build", build_type=build_type)

    assert advice == (
        f"the native programs in {tmp_path}/build are built {named}, so they are not optimised and "
        "times are longer; build them with CMAKE_BUILD_TYPE=Release"
    )


@pytest.mark.parametrize("build_type", ["Release", "RelWithDebInfo", "MinSizeRel", "None"])
def test_programs_that_are_optimised_or_have_the_flags_of_a_package_are_not_named(
    build_type: str, tmp_path: Path
) -> None:
    assert advice_on(tmp_path / "build", build_type=build_type) == ""


def test_programs_of_another_version_are_named_with_both_versions(tmp_path: Path) -> None:
    advice = advice_on(tmp_path / "build", version="0.0.9")

    assert advice == (
        f"the native programs in {tmp_path}/build are of Lanewise 0.0.9, and the command is of "
        f"{__version__}; install both from one version"
    )
