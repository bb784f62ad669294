# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise reproduce` lists what there is, and says in one line what it cannot run."""

import json
from pathlib import Path

import pytest

from lanewise.cli import run


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce"]) == 0

    assert "timing-methods" in capsys.readouterr().out


def test_the_list_is_one_object_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--list", "--json"]) == 0

    assert len(json.loads(capsys.readouterr().out)["experiments"]) >= 5


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "pipeline-efect"]) == 2

    assert "did you mean pipeline-effect?" in capsys.readouterr().err


def test_an_experiment_that_cannot_run_here_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))

    assert run(["reproduce", "interval-coverage", "-o", str(tmp_path / "out")]) == 1

    assert "name a build folder" in capsys.readouterr().err
