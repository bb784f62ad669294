# SPDX-License-Identifier: BSD-3-Clause
"""A target is met on its side of the bound, and a paper is cited by its name."""

from typing import Any

import pytest

from experiments.experiment import Experiment, Outcome, Target


@pytest.mark.parametrize(("op", "value"), [("<=", 1.0), ("<=", 1.1), (">=", 1.0), (">=", 0.9)])
def test_a_target_is_met_on_its_side_of_the_bound(op: Any, value: float) -> None:
    assert Target("x", op, value).met_by({"x": 1.0})


@pytest.mark.parametrize(("op", "value"), [("<=", 0.9), (">=", 1.1)])
def test_a_target_is_missed_beyond_its_bound(op: Any, value: float) -> None:
    assert not Target("x", op, value).met_by({"x": 1.0})


def test_a_figure_that_is_missing_or_undefined_meets_nothing() -> None:
    assert not Target("x", "<=", 1.0).met_by({})
    assert not Target("x", "<=", 1.0).met_by({"x": float("nan")})


def test_a_paper_is_cited_by_its_name() -> None:
    experiment = Experiment("x", "000 Table 1", "", lambda _workspace: Outcome({}, [], {}, []))

    assert experiment.citation == "MPIBlib 2008, Table 1"
