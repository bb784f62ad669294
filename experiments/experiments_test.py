# SPDX-License-Identifier: BSD-3-Clause
"""The registry, the printed object, and the arithmetic of each experiment on known samples."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.experiment import Experiment, Outcome, Row, Target
from experiments.interval_coverage import experiment as interval_coverage
from experiments.parallel_pairs import experiment as parallel_pairs
from experiments.pipeline_effect import experiment as pipeline_effect
from experiments.registry import EXPERIMENTS, find_experiment
from experiments.run import Finished, run_experiment
from experiments.show import (
    as_object,
    print_json,
    print_list,
    print_outcome,
    target_sentence,
)
from experiments.testbed_accuracy import experiment as testbed_accuracy
from experiments.timing_methods import experiment as timing_methods
from experiments.workspace import Workspace
from lanewise.errors import RequestError, RunError
from lanewise.results import specimen
from lanewise.results.read import Samples, load

OUTCOME = Outcome(
    figures={"speedup": 3.9},
    rows=[Row("speedup", "7.00", "3.90")],
    conditions={"ranks": 8},
    files=[Path("pairs.png"), Path("pairs.svg")],
)
TARGETS = (Target("speedup", ">=", 3.5), Target("missing", "<=", 5.0))
EXPERIMENT = Experiment("pairs", "000 §5", "all at once", lambda _workspace: OUTCOME, TARGETS)


def test_names_are_words_joined_by_hyphens_and_no_two_alike() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_says_which_paper_and_what(experiment: Experiment) -> None:
    assert re.match(r"00[0-4] (Table|Fig\.|§)", experiment.paper)
    assert 20 < len(experiment.summary) < 100


def test_the_experiments_of_the_issue_are_there() -> None:
    names = {experiment.name for experiment in EXPERIMENTS}

    assert names >= {
        "timing-methods", "pipeline-effect", "parallel-pairs", "interval-coverage", "global-clock",
    }  # fmt: skip


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(RequestError, match="did you mean timing-methods"):
        find_experiment("timing-method")


@pytest.mark.parametrize(("op", "value"), [("<=", 1.0), ("<=", 1.1), (">=", 1.0), (">=", 0.9)])
def test_a_target_is_met_on_its_side_of_the_bound(op: Any, value: float) -> None:
    assert Target("x", op, value).met_by({"x": 1.0})


@pytest.mark.parametrize(("op", "value"), [("<=", 0.9), (">=", 1.1)])
def test_a_target_is_missed_beyond_its_bound(op: Any, value: float) -> None:
    assert not Target("x", op, value).met_by({"x": 1.0})


def test_a_figure_that_is_missing_or_undefined_meets_nothing() -> None:
    assert not Target("x", "<=", 1.0).met_by({})
    assert not Target("x", "<=", 1.0).met_by({"x": float("nan")})


def test_the_object_has_the_keys_of_the_design() -> None:
    printed = as_object(Finished(EXPERIMENT, OUTCOME))

    assert list(printed) == ["name", "paper", "figures", "targets", "conditions", "files"]
    assert printed["targets"] == {
        "speedup": {"op": ">=", "value": 3.5, "met": True},
        "missing": {"op": "<=", "value": 5.0, "met": False},
    }
    assert printed["files"] == ["pairs.png", "pairs.svg"]


def test_the_object_is_one_line_of_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Finished(EXPERIMENT, OUTCOME))

    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == 1
    assert json.loads(lines[0])["figures"] == {"speedup": 3.9}


def test_a_figure_that_is_undefined_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Finished(EXPERIMENT, replace(OUTCOME, figures={"speedup": float("nan")})))

    assert json.loads(capsys.readouterr().out)["figures"] == {"speedup": None}


def test_the_table_has_paper_and_here_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(Finished(EXPERIMENT, OUTCOME))

    text = capsys.readouterr().out

    assert re.search(r"speedup\s+7\.00\s+3\.90", text)
    assert "plot: pairs.png" in text


def test_a_missed_target_is_said_plainly() -> None:
    assert target_sentence(Target("speedup", ">=", 4.0), OUTCOME) == (
        "target speedup >= 4: MISSED, 3.9"
    )


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    print_list(as_json=True)

    listed = json.loads(capsys.readouterr().out)["experiments"]

    assert [entry["name"] for entry in listed] == [experiment.name for experiment in EXPERIMENTS]


def test_a_run_adds_the_conditions_of_the_machine(tmp_path: Path) -> None:
    finished = run_experiment(EXPERIMENT, tmp_path / "new")

    assert finished.outcome.conditions["ranks"] == 8
    assert {"cores", "kernel", "governor", "took_s"} <= finished.outcome.conditions.keys()


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


def pair_samples(path: Path, medians_s: dict[tuple[int, int], float]) -> Samples:
    points = [
        specimen.point_record("pairs", 4096, [median_s] * 10, root=first, peer=second)
        for (first, second), median_s in medians_s.items()
    ]
    return load(specimen.write(path, [specimen.context_record(), *points]))


def test_the_deviation_of_pairs_is_that_of_the_worst(tmp_path: Path) -> None:
    before = pair_samples(tmp_path / "a", {(0, 1): 1e-4, (0, 2): 2e-4})
    after = pair_samples(tmp_path / "b", {(0, 2): 2.1e-4, (0, 1): 1.01e-4})

    assert parallel_pairs.deviation_percent(before, after) == pytest.approx(5.0)


def test_orders_that_measured_other_pairs_are_not_compared(tmp_path: Path) -> None:
    before = pair_samples(tmp_path / "a", {(0, 1): 1e-4})
    after = pair_samples(tmp_path / "b", {(0, 2): 1e-4})

    with pytest.raises(RunError, match="same pairs"):
        parallel_pairs.deviation_percent(before, after)


def size_samples(path: Path, medians_s: dict[int, float]) -> Samples:
    points = [
        specimen.point_record("scatter", size, [median_s] * 10)
        for size, median_s in medians_s.items()
    ]
    return load(specimen.write(path, [specimen.context_record(), *points]))


def test_the_pipeline_effect_is_a_ratio_at_one_size(tmp_path: Path) -> None:
    isolated = size_samples(tmp_path / "a", {8: 3e-6, 16: 9e-6})
    pipelined = size_samples(tmp_path / "b", {16: 9e-6, 8: 1e-6})

    assert pipeline_effect.ratio_at(isolated, pipelined, 8) == pytest.approx(3.0)


def test_a_size_that_was_not_measured_gives_no_ratio(tmp_path: Path) -> None:
    samples = size_samples(tmp_path / "a", {16: 1e-6})

    with pytest.raises(RunError, match="8 B"):
        pipeline_effect.ratio_at(samples, samples, 8)


def test_methods_agree_by_the_median_over_sizes(tmp_path: Path) -> None:
    runs = {
        (operation, method): size_samples(
            tmp_path / f"{operation}-{method}", dict.fromkeys((1, 2, 3), factor * 1e-06)
        )
        for operation in timing_methods.OPERATIONS
        for method, factor in (("max", 1.0), ("root", 1.02), ("global", 1.02))
    }

    assert timing_methods.deviation_percent(runs) == pytest.approx(2.0)


def test_a_coverage_is_written_with_one_decimal() -> None:
    assert interval_coverage.percent_of(0.946) == "94.6 %"


def test_the_accuracy_of_a_testbed_is_told_by_medians_and_the_worst_rate() -> None:
    share = testbed_accuracy.PAYLOAD_SHARE

    figures = testbed_accuracy.figures_of(
        [5.1] * 9, [5.2] * 5 + [9.0] * 4, {1e8: 1e8 * share, 1e9: 0.98e9 * share}, 6e9
    )

    assert figures["delay_error_idle_ms"] == pytest.approx(0.1)
    assert figures["delay_error_ms"] == pytest.approx(0.2)
    assert figures["rate_error_percent"] == pytest.approx(2.0)
    assert figures["throughput_gbps"] == pytest.approx(6.0)
