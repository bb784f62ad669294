# SPDX-License-Identifier: BSD-3-Clause
"""A run has a folder of its own, and says what it ran on and whether targets were met."""

import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import results
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Target
from experiments.run import Finished, run_experiment
from experiments.workspace import Workspace
from lanewise.errors import RequestError, RunError

OUTCOME = Outcome(
    {"speedup": 3.9}, rows=[], conditions={"ranks": 8}, files=[Path("pairs.png")],
    launches={"speedup": [3.9, 3.4, 4.1]},
)  # fmt: skip
FIGURES = (
    Figure("speedup", "ratio", Estimator("median", 3, 100, "round trips"), Target(">=", 3.5)),
)
EXPERIMENT = Experiment("pairs", "000 §5", "all at once", lambda _workspace: OUTCOME, FIGURES)


def test_a_run_adds_the_conditions_of_the_machine(tmp_path: Path) -> None:
    finished = run_experiment(EXPERIMENT, tmp_path / "new")

    assert finished.outcome.conditions["ranks"] == 8
    known = {"processor", "cores", "kernel", "governor", "load_average", "took_s"}
    assert known <= finished.outcome.conditions.keys()


def test_a_quick_run_is_the_smaller_one_where_there_is_one(tmp_path: Path) -> None:
    small = replace(OUTCOME, figures={"speedup": 3.0})
    both = replace(EXPERIMENT, quick=Quick(lambda _workspace: small, takes_s=1.0))

    def ran(experiment: Experiment, *, quick: bool) -> tuple[float, bool]:
        finished = run_experiment(experiment, tmp_path, quick=quick)
        return finished.outcome.figures["speedup"], finished.quick

    assert [ran(both, quick=quick) for quick in (True, False)] == [(3.0, True), (3.9, False)]
    assert ran(EXPERIMENT, quick=True) == (3.9, False)


def test_an_experiment_that_is_terminated_cleans_up_as_one_that_is_interrupted(
    tmp_path: Path,
) -> None:
    def run(workspace: Workspace) -> Outcome:
        raw = workspace.folder / "raw"
        raw.write_text("")
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            raw.unlink()
        return OUTCOME

    with pytest.raises(KeyboardInterrupt):
        run_experiment(replace(EXPERIMENT, run=run), tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RequestError, match="name another --folder"):
        run_experiment(EXPERIMENT, tmp_path / "file" / "pairs")


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    refused: list[str] = []

    def run(_workspace: Workspace) -> Outcome:
        with pytest.raises(RequestError) as error:
            run_experiment(EXPERIMENT, tmp_path)
        refused.append(str(error.value))
        return OUTCOME

    run_experiment(replace(EXPERIMENT, run=run), tmp_path)

    (said,) = refused
    assert said == f"another run writes into {tmp_path}; wait for its end or name another --folder"
    assert run_experiment(EXPERIMENT, tmp_path).met  # it is free again


def test_the_commit_is_read_when_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = ["before"]
    monkeypatch.setattr(results, "commit", lambda: now[0])

    def run(_workspace: Workspace) -> Outcome:
        now[0] = "meanwhile"
        return OUTCOME

    assert run_experiment(replace(EXPERIMENT, run=run), tmp_path).commit == "before"


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


def test_a_fresh_file_has_nothing_of_an_earlier_tuning(tmp_path: Path) -> None:
    for ending in ("", ".evidence", ".finalists"):
        (tmp_path / f"free.json{ending}").write_text("of an earlier run")
    (tmp_path / "other.json").write_text("of another tuning")

    fresh = Workspace(tmp_path).fresh("free.json")

    assert fresh == tmp_path / "free.json"
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_a_run_that_misses_a_target_says_so() -> None:
    missed = replace(OUTCOME, figures={"speedup": 3.4})

    assert Finished(EXPERIMENT, OUTCOME).met
    assert not Finished(EXPERIMENT, missed).met


def test_a_figure_that_was_not_measured_misses_its_target() -> None:
    assert not Finished(EXPERIMENT, replace(OUTCOME, figures={}, launches={})).met


def test_the_launches_within_a_target_are_counted() -> None:
    (judged,) = Finished(EXPERIMENT, OUTCOME).judged

    assert (judged.within, len(judged.launches)) == (2, 3)


@pytest.mark.parametrize(
    ("ends", "beyond"), [((3.6, 4.0), False), ((3.4, 4.0), True), ((3.4, math.nan), False)]
)
def test_an_interval_that_reaches_beyond_a_target_is_told(
    ends: tuple[float, float],
    beyond: bool,  # noqa: FBT001 - what is expected
) -> None:
    low, high = ends
    figures = {"speedup": 3.9, "speedup_low": low, "speedup_high": high}

    (judged,) = Finished(EXPERIMENT, replace(OUTCOME, figures=figures)).judged

    assert (judged.met, judged.reaches_beyond) == (True, beyond)


def test_a_figure_of_one_launch_is_its_own_launch() -> None:
    once = (replace(FIGURES[0], estimator=Estimator("time", 1, 1, "run")),)

    (judged,) = Finished(replace(EXPERIMENT, figures=once), replace(OUTCOME, launches={})).judged

    assert judged.launches == (3.9,)


FAULTS = {
    "does not declare the figure cost_s": {"figures": {"speedup": 3.9, "cost_s": 1.0}},
    "gives 2 launches of speedup and declares 3": {"launches": {"speedup": [3.9, 4.1]}},
    "gives 1 launches of speedup and declares 3": {"launches": {}},
    "draws no plot": {"files": [Path("pairs.svg")]},
}


@pytest.mark.parametrize(("fault", "change"), FAULTS.items(), ids=FAULTS)
def test_an_outcome_that_is_not_what_was_declared_is_a_fault(
    fault: str, change: dict[str, Any]
) -> None:
    (said,) = Finished(EXPERIMENT, replace(OUTCOME, **change)).faults

    assert fault in said


def test_an_outcome_as_declared_has_no_faults() -> None:
    assert Finished(EXPERIMENT, OUTCOME).faults == []
