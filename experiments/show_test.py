# SPDX-License-Identifier: BSD-3-Clause
"""An outcome is a table for people or one JSON object for programs."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.registry import EXPERIMENTS
from experiments.run import Finished
from experiments.show import (
    as_object,
    print_json,
    print_list,
    print_outcome,
    sentences_without_target,
    target_sentence,
)

OUTCOME = Outcome(
    figures={"speedup": 3.9, "cost_s": 0.5},
    rows=[Row("speedup", "7.00", "3.90")],
    conditions={"ranks": 8},
    files=[Path("pairs.png"), Path("pairs.svg")],
    launches={"speedup": [3.9, 3.4, 4.1]},
    curves={"pairs/at once": [(8.0, 1.5e-6), (16.0, math.nan)]},
)
MEDIAN = Estimator("median", 3, 100, "round trips")
FIGURES = (
    Figure("speedup", "ratio", MEDIAN, Target(">=", 3.5)),
    Figure("missing", "ratio", MEDIAN, Target("<=", 5.0)),
    Figure("cost_s", "s", Estimator("time", 1, 1, "run"), "it depends on the switch"),
)
EXPERIMENT = Experiment("pairs", "000 §5", "all at once", lambda _workspace: OUTCOME, FIGURES)


def test_the_object_has_the_keys_of_the_design() -> None:
    printed = as_object(Finished(EXPERIMENT, OUTCOME))

    assert list(printed) == [
        "name", "paper", "quick", "figures", "targets", "figures_as", "launches", "curves",
        "conditions", "files",
    ]  # fmt: skip
    assert printed["figures_as"] == {
        "speedup": {"estimator": "median", "launches": 3, "batch": 100, "batch_of": "round trips"},
        "cost_s": {"estimator": "time", "launches": 1, "batch": 1, "batch_of": "run"},
    }
    assert printed["launches"] == {"speedup": [3.9, 3.4, 4.1]}
    estimated = {"estimator": "median", "launches": 3, "batch": 100, "batch_of": "round trips"}
    assert printed["targets"] == {
        "speedup": {"op": ">=", "value": 3.5, "met": True, **estimated, "launches_within": 2},
        "missing": {"op": "<=", "value": 5.0, "met": False, **estimated, "launches_within": 0},
    }
    assert printed["curves"] == {"pairs/at once": [(8.0, 1.5e-6), (16.0, None)]}
    assert printed["files"] == ["pairs.png", "pairs.svg"]


def test_a_quick_run_is_marked_and_has_no_targets() -> None:
    printed = as_object(Finished(EXPERIMENT, OUTCOME, quick=True))

    assert printed["quick"] is True
    assert printed["targets"] == {}


def test_the_object_is_one_line_of_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Finished(EXPERIMENT, OUTCOME))

    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == 1
    assert json.loads(lines[0])["figures"] == {"speedup": 3.9, "cost_s": 0.5}


def test_counts_are_kept_to_the_last_digit_and_times_with_six(
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures = {"speedup": 134217728.0, "cost_s": 1.23456789}
    print_json(Finished(EXPERIMENT, replace(OUTCOME, figures=figures)))

    printed = json.loads(capsys.readouterr().out)["figures"]
    assert printed == {"speedup": 134217728, "cost_s": 1.23457}


def test_a_figure_that_is_undefined_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Finished(EXPERIMENT, replace(OUTCOME, figures={"speedup": float("nan")})))

    assert json.loads(capsys.readouterr().out)["figures"] == {"speedup": None}


def test_the_table_has_paper_and_here_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(Finished(EXPERIMENT, OUTCOME))

    text = capsys.readouterr().out

    assert re.search(r"speedup\s+7\.00\s+3\.90", text)
    assert "plot: pairs.png" in text


def test_a_target_is_said_with_its_estimator_and_the_launches_within_it() -> None:
    met, missing = Finished(EXPERIMENT, OUTCOME).judged

    assert target_sentence(met) == (
        "target speedup >= 3.5: met, 3.9; 2 of 3 launches within it "
        "(median; 3 launches of 100 round trips)"
    )
    assert "MISSED, not measured; 0 of 0 launches" in target_sentence(missing)


@pytest.mark.parametrize(
    ("low", "said"),
    [(3.6, "met, 3.9 (interval 3.6 to 4.1); 2"),
     (3.4, "met, 3.9 (interval 3.4 to 4.1, which reaches beyond the target); 2")],
)  # fmt: skip
def test_a_verdict_is_said_with_the_interval(low: float, said: str) -> None:
    figures = {**OUTCOME.figures, "speedup_low": low, "speedup_high": 4.1}

    met, _ = Finished(EXPERIMENT, replace(OUTCOME, figures=figures)).judged

    assert said in target_sentence(met)


def test_a_figure_without_a_target_is_said_with_the_reason() -> None:
    assert sentences_without_target(EXPERIMENT, OUTCOME.figures) == [
        "no target for cost_s: it depends on the switch (time; 1 launch of 1 run)"
    ]


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    print_list(as_json=True)

    listed = json.loads(capsys.readouterr().out)["experiments"]

    assert [entry["name"] for entry in listed] == [experiment.name for experiment in EXPERIMENTS]


def test_the_list_for_programs_has_what_is_declared_of_each_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_list(as_json=True)

    listed = json.loads(capsys.readouterr().out)["experiments"]

    (pairs,) = [entry for entry in listed if entry["name"] == "parallel-pairs"]
    speedup = pairs["figures"][0]
    assert speedup["name"] == "speedup"
    assert speedup["target"] == {"op": ">=", "value": 3.5}
    assert (speedup["launches"], speedup["batch"]) == (1, 100)
    assert speedup["why_no_target"] is None
    assert pairs["figures"][-1]["why_no_target"] == "the target is for eight ranks"
