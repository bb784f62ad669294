# SPDX-License-Identifier: BSD-3-Clause
"""What `lanewise run` does with the files that it is to write."""

import os
import stat
from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.cli.run_tuned import new_file

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

    assert new_file("--report", report) == report
    assert not report.exists()


def test_what_is_no_regular_file_is_left_as_it_is(pipe: Path) -> None:
    assert new_file("--report", pipe) == pipe
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_link_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    link, report = tmp_path / "link.json", tmp_path / "run.json"
    report.write_text("old")
    link.symlink_to(report)

    assert new_file("--report", link) == report
    assert link.is_symlink()
    assert not report.exists()


def test_a_profile_that_cannot_be_read_again_is_refused(pipe: Path, capsys: Capture) -> None:
    status = run(["run", "--profile", str(pipe), "--", "mpirun", "true"])

    assert status == 2
    assert f"--profile {pipe}" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
