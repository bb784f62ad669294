# SPDX-License-Identifier: BSD-3-Clause
"""Native builds are found by their manifest, the fittest first, and what is wrong is named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch import native
from lanewise.launch.registry import LAUNCHERS


def make_build(folder: Path, mpi: str, build_type: str = "Release") -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / native.MEASURE).touch()
    manifest = {
        "mpi": mpi,
        "mpi_version": "1.2.3",
        "build_type": build_type,
        "version": "0.1.0",
        "bin": "bin",
        "lib": "lib",
    }
    (folder / native.MANIFEST).write_text(json.dumps(manifest))
    return folder


def test_the_folder_in_the_environment_is_the_only_one(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "mine", "mpich")

    builds = native.find_builds({"LANEWISE_NATIVE": str(folder)})

    assert [build.folder for build in builds] == [folder]


def test_a_relative_folder_in_the_environment_holds_for_ranks_that_start_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_build(tmp_path / "mine", "mpich")
    monkeypatch.chdir(tmp_path)

    [build] = native.find_builds({"LANEWISE_NATIVE": "mine"})

    assert (build.folder, build.libraries) == (folder, folder / "lib")


def test_a_folder_in_the_environment_without_a_build_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"LANEWISE_NATIVE=.* has no lanewise-build\.json"):
        native.find_builds({"LANEWISE_NATIVE": str(tmp_path)})


def test_a_damaged_manifest_is_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "mine", "mpich")
    (folder / native.MANIFEST).write_text('{"mpi": ')

    with pytest.raises(RequestError, match=r"cannot be used.*make build"):
        native.find_builds({"LANEWISE_NATIVE": str(folder)})


def test_a_manifest_whose_values_are_no_texts_is_refused(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "mine", "mpich")
    manifest = folder / native.MANIFEST
    manifest.write_text(manifest.read_text().replace('"mpich"', '["mpich"]'))

    with pytest.raises(RequestError, match=r"cannot be used.*make build"):
        native.find_builds({"LANEWISE_NATIVE": str(folder)})


def test_a_manifest_that_is_a_list_of_pairs_is_refused(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "release", "mpich")
    manifest = folder / native.MANIFEST
    manifest.write_text(json.dumps(list(json.loads(manifest.read_text()).items())))

    with pytest.raises(RequestError, match=r"cannot be used.*make build"):
        native.read_build(manifest)


def test_a_manifest_may_have_other_values_that_are_not_read(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "release", "mpich")
    manifest = folder / native.MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "jobs": 4}))

    assert native.read_build(manifest).mpi == "mpich"


def test_an_installed_build_is_found_below_the_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_build(tmp_path / "libexec/lanewise/openmpi", "openmpi")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    assert folder in [build.folder for build in native.find_builds({})]


def installed_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package lie in `folder`, outside of any source tree."""
    monkeypatch.setattr(native, "PACKAGE", folder / "lanewise")


@pytest.mark.parametrize(
    "folder",
    ["lib/python3.11/site-packages", "local/lib/python3.11/dist-packages", "."],
    ids=["an environment", "Debian's root", "pip install --target"],
)
def test_an_installed_package_finds_the_build_below_its_own_prefix(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_at(tmp_path / folder, monkeypatch)
    prefix = tmp_path / "local" if "local" in folder else tmp_path
    build = make_build(prefix / "libexec/lanewise/openmpi", "openmpi")

    assert [found.folder for found in native.find_builds({})] == [build]


def test_an_environment_inside_a_source_tree_does_not_use_its_build_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_build(tmp_path / "build/release", "openmpi")
    installed_at(tmp_path / ".venv/lib/python3.11/site-packages", monkeypatch)

    assert native.find_builds({}) == []


def test_outside_of_a_source_tree_the_remedy_is_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_at(tmp_path, monkeypatch)

    assert native.build_command().startswith("pip install .")
    assert "LANEWISE_MPI=mpich" in native.build_command("mpich")


def test_the_preset_of_an_mpi_wins_then_the_optimised_build(tmp_path: Path) -> None:
    folders = [
        make_build(tmp_path / "asan", "openmpi", "Debug"),
        make_build(tmp_path / "other", "openmpi", "Release"),
        make_build(tmp_path / "release", "openmpi", "Release"),
    ]
    builds = [native.read_build(folder / native.MANIFEST) for folder in folders]

    ordered = sorted(builds, key=native.preference)

    assert [build.folder.name for build in ordered] == ["release", "other", "asan"]


def test_srun_prefers_open_mpi_and_takes_mpich(tmp_path: Path) -> None:
    folders = [make_build(tmp_path / "mpich", "mpich"), make_build(tmp_path / "release", "openmpi")]
    mpich, openmpi = (native.read_build(folder / native.MANIFEST) for folder in folders)

    assert native.build_for(LAUNCHERS["srun"], [mpich, openmpi]) == openmpi
    assert native.build_for(LAUNCHERS["srun"], [mpich]) == mpich
    assert native.build_for(LAUNCHERS["openmpi"], [mpich]) is None


def test_a_build_that_is_configured_and_not_built_is_left_out(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "release", "openmpi")
    (folder / "bin" / native.MEASURE).unlink()

    assert native.find_builds({"LANEWISE_NATIVE": str(folder)}) == []


def test_a_program_is_a_subcommand_of_the_one_file(tmp_path: Path) -> None:
    folder = make_build(tmp_path / "release", "openmpi")
    (folder / "bin" / native.NATIVE).touch()
    build = native.read_build(folder / native.MANIFEST)

    program = str(folder / "bin" / "lanewise-native")
    assert build.command("lanewise-measure") == (program, "measure")


def test_a_missing_program_names_the_command_that_builds_it(tmp_path: Path) -> None:
    build = native.read_build(make_build(tmp_path / "release", "openmpi") / native.MANIFEST)

    with pytest.raises(RequestError, match="lanewise-tune is missing; build it with: make"):
        build.program("lanewise-tune")


@pytest.mark.parametrize(("mpi", "tree"), native.PRESETS.items())
def test_the_line_that_builds_for_an_mpi_is_one_that_make_takes(mpi: str, tree: str) -> None:
    planned = subprocess.run(
        [*native.build_command(mpi).split(), "-n"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )

    assert planned.returncode == 0, planned.stderr
    assert f"for tree in {tree};" in planned.stdout


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/x86_64-linux-gnu"])
def test_an_installed_library_is_found_in_each_folder_that_systems_use(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_at(tmp_path / "lib/python3/dist-packages", monkeypatch)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    make_build(tmp_path / "libexec/lanewise/openmpi", "openmpi")
    library = tmp_path / folder / "liblanewise.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    library.touch()

    assert native.find_library("liblanewise.so", {}) == library


@pytest.mark.parametrize("named", ["prefix/libexec/lanewise/openmpi", "current", "openmpi"])
def test_an_installed_library_is_found_by_any_name_of_the_folder_with_the_programs(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_build(tmp_path / "prefix/libexec/lanewise/openmpi", "openmpi")
    library = tmp_path / "prefix/lib/liblanewise.so"
    library.parent.mkdir()
    library.touch()
    (tmp_path / "current").symlink_to(folder)
    monkeypatch.chdir(folder.parent if named == "openmpi" else tmp_path)

    assert native.find_library("liblanewise.so", {"LANEWISE_NATIVE": named}) == library
