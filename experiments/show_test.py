# SPDX-License-Identifier: BSD-3-Clause
"""An outcome is a table for people or one JSON object for programs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.experiment import Experiment, Outcome, Row, Target
from experiments.registry import EXPERIMENTS
from experiments.run import Finished
from experiments.show import (
    as_object,
    print_json,
    print_list,
    print_outcome,
    target_sentence,
)

OUTCOME = Outcome(
    figures={"speedup": 3.9},
    rows=[Row("speedup", "7.00", "3.90")],
    conditions={"ranks": 8},
    files=[Path("pairs.png"), Path("pairs.svg")],
)
TARGETS = (Target("speedup", ">=", 3.5), Target("missing", "<=", 5.0))
EXPERIMENT = Experiment("pairs", "000 §5", "all at once", lambda _workspace: OUTCOME, TARGETS)


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
