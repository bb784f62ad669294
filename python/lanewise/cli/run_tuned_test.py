# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise run` does with the files that it is to write."""

import os
import stat
from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.cli.run_tuned import (
    new_file,
    remove_former,
    require_profile_calls,
    show_profile,
)
from lanewise.profile import specimen
from lanewise.profile.read import load

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Make what is no regular file, as a device is none."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_file_of_an_earlier_run_is_removed(tmp_path: Path) -> None:
    report = tmp_path / "run.json"
    report.write_text("old")

    remove_former(new_file("--report", report), new_file("--profile", tmp_path / "none.json"))

    assert not report.exists()


def test_what_is_no_regular_file_is_left_as_it_is(pipe: Path) -> None:
    remove_former(new_file("--report", pipe))

    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_link_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    link, report = tmp_path / "link.json", tmp_path / "run.json"
    report.write_text("old")
    link.symlink_to(report)

    remove_former(new_file("--report", link))

    assert link.is_symlink()
    assert not report.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--report", "kept.json", "--tuning", "kept.json", "--", "mpirun", "true"],
        ["--report", "tuning.json", "--", "mpirun", "true"],
        ["--profile", "kept.json", "--report", "kept.json", "--tuning", "t.json", "--", "mpirun"],
        ["--interleaved", "2", "-o", "kept.json", "--tuning", "kept.json", "--", "mpirun", "true"],
        ["--profile", "kept.json", "--", "nosuchprogram"],
        ["--profile", "kept.json", "--platform", "none.json", "--", "mpirun", "true"],
        ["--profile", "kept.json", "--mpi", "openmpi", "--", "./nosuchprogram"],
        ["--profile", "kept.json", "--print-command", "--", "mpirun", "true"],
    ],
)
def test_a_file_stays_where_nothing_is_started(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lanewise.cli.run_tuned.become", lambda *_: pytest.fail("was started"))
    names = ("kept.json", "t.json", "tuning.json")
    for name in names:
        Path(name).write_text("{}")

    status = run(["run", *words])

    assert status == (0 if "--print-command" in words else 2)
    assert [Path(name).read_text() for name in names] == ["{}"] * 3


@pytest.mark.parametrize("path", [".", os.devnull])
def test_a_tuning_file_is_a_file(path: str, capsys: Capture) -> None:
    assert run(["run", "--tuning", path, "--", "mpirun", "true"]) == 2
    assert f"{path} is not a regular file" in capsys.readouterr().err


def test_a_profile_that_cannot_be_read_again_is_refused(pipe: Path, capsys: Capture) -> None:
    status = run(["run", "--profile", str(pipe), "--", "mpirun", "true"])

    assert status == 2
    assert f"--profile {pipe}" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


@pytest.mark.parametrize("calls", ["4M", "abc", "-1", "0", "1.5", "1_000", "9" * 30])
def test_a_number_of_calls_that_is_none_is_refused_before_anything_is_started(
    calls: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("LANEWISE_PROFILE_CALLS", calls)

    assert run(["run", "--profile", "p.json", "--", "mpirun", "true"]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert f"LANEWISE_PROFILE_CALLS={calls}: write a whole number of calls from 1 to " in line


@pytest.mark.parametrize("calls", ["", "1", "4000000"])
def test_a_number_of_calls_that_is_one_is_taken(calls: str) -> None:
    require_profile_calls(Path("profile.json"), calls)


def test_a_number_of_calls_matters_only_for_a_profile() -> None:
    require_profile_calls(None, "abc")


@pytest.mark.parametrize("content", ["{", "{}", '{"sites": []}'])
def test_a_profile_that_is_damaged_is_said_to_be_and_ends_nothing(
    content: str, tmp_path: Path, capsys: Capture
) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(content, encoding="utf-8")

    show_profile(profile, "mpirun ./app")

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"lanewise run: {profile} cannot be shown: ")


def test_a_profile_ends_nothing_where_nobody_can_read_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = specimen.write(tmp_path / "profile.json")

    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        show_profile(profile, "mpirun ./app")
        show_profile(tmp_path / "none.json", "mpirun ./app")

    assert load(profile).program == "mpirun ./app"
