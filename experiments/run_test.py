# SPDX-License-Identifier: BSD-3-Clause
"""A run has a folder of its own, and says what it ran on and whether targets were met."""

import json
from pathlib import Path

import pytest

from experiments.experiment import Experiment, Outcome, Target
from experiments.run import Finished, run_experiment
from experiments.workspace import Workspace
from lanewise.errors import RequestError, RunError

OUTCOME = Outcome({"speedup": 3.9}, rows=[], conditions={"ranks": 8}, files=[])
TARGETS = (Target("speedup", ">=", 3.5),)
EXPERIMENT = Experiment("pairs", "000 §5", "all at once", lambda _workspace: OUTCOME, TARGETS)


def test_a_run_adds_the_conditions_of_the_machine(tmp_path: Path) -> None:
    finished = run_experiment(EXPERIMENT, tmp_path / "new")

    assert finished.outcome.conditions["ranks"] == 8
    known = {"processor", "cores", "kernel", "governor", "load_average", "took_s"}
    assert known <= finished.outcome.conditions.keys()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RequestError, match="name another -o"):
        run_experiment(EXPERIMENT, tmp_path / "file" / "pairs")


def test_a_missing_native_build_is_a_failure_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))

    with pytest.raises(RunError, match="name a build folder"):
        Workspace(tmp_path).measure("x", ["scatter"], 2)


def test_a_missing_program_names_the_target_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/lanewise-measure").write_text("")
    manifest = {"mpi": "openmpi", "mpi_version": "", "build_type": "Release", "version": "0"}
    manifest |= {"bin": "bin", "lib": "lib"}
    (tmp_path / "lanewise-build.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))

    with pytest.raises(RunError, match=r"lanewise-coverage is not built.*make experiments"):
        Workspace(tmp_path).ask("lanewise-coverage")


def test_a_run_that_misses_a_target_says_so() -> None:
    missed = Outcome({"speedup": 3.4}, rows=[], conditions={}, files=[])

    assert Finished(EXPERIMENT, OUTCOME).met
    assert not Finished(EXPERIMENT, missed).met
