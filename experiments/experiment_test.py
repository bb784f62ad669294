# SPDX-License-Identifier: BSD-3-Clause
"""A target is met on its side of the bound, keys find their figures, and papers have names."""

from pathlib import Path
from typing import Any

import pytest

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Target, constant

MEDIAN = Estimator("median of the launches", 7, 60, "rounds")


@pytest.mark.parametrize(("op", "value"), [("<=", 1.0), ("<=", 1.1), (">=", 1.0), (">=", 0.9)])
def test_a_target_is_met_on_its_side_of_the_bound(op: Any, value: float) -> None:
    assert Target(op, value).met_by(1.0)


@pytest.mark.parametrize(("op", "value"), [("<=", 0.9), (">=", 1.1)])
def test_a_target_is_missed_beyond_its_bound(op: Any, value: float) -> None:
    assert not Target(op, value).met_by(1.0)


@pytest.mark.parametrize(("value", "met"), [(0.89, False), (1.0, True), (1.06, False)])
def test_a_target_with_an_upper_end_is_met_between_its_ends(*, value: float, met: bool) -> None:
    target = Target(">=", 0.9, at_most=1.05)

    assert target.met_by(value) is met
    assert str(target) == ">= 0.9 and <= 1.05"
    assert target.plain() == {"op": ">=", "value": 0.9, "at_most": 1.05}


def test_a_figure_that_is_missing_or_undefined_meets_nothing() -> None:
    assert not Target("<=", 1.0).met_by(None)
    assert not Target("<=", 1.0).met_by(float("nan"))


def experiment(*figures: Figure) -> Experiment:
    """Return an experiment with these figures."""
    return Experiment("x", "000 Table 1", "", lambda _workspace: Outcome({}, [], {}, []), figures)


def test_a_paper_is_cited_by_its_name() -> None:
    assert experiment().citation == "MPIBlib 2008, Table 1"


def test_a_figure_has_a_target_or_the_reason_why_it_has_none() -> None:
    judged = Figure("ratio", "ratio", MEDIAN, Target("<=", 1.05))
    shown = Figure("time_s", "s", MEDIAN, "it depends on the machine")

    assert (judged.target, judged.why_none) == (Target("<=", 1.05), "")
    assert (shown.target, shown.why_none) == (None, "it depends on the machine")
    assert experiment(judged, shown).targets == {"ratio": Target("<=", 1.05)}


def test_an_estimator_says_how_many_launches_of_what() -> None:
    assert MEDIAN.counts == "7 launches of 60 rounds"
    assert Estimator("time", 1, 1, "run of each").counts == "1 launch of 1 run of each"


def test_a_family_has_all_keys_of_its_pattern_and_the_ends_of_their_intervals() -> None:
    family = Figure("{transport}_latency_us", "us", MEDIAN, "shown")

    assert family.has("tcp_latency_us")
    assert family.has("tcp_latency_us_low")
    assert not family.has("tcp_latency_ms")
    assert not family.has("_latency_us")


def test_a_figure_of_its_own_comes_before_the_family_that_would_have_it_too() -> None:
    family = Figure("{which}_r2", "ratio", MEDIAN, "shown")
    worst = Figure("worst_r2", "ratio", MEDIAN, Target(">=", 0.95))

    assert experiment(family, worst).figure("worst_r2") is worst
    assert experiment(family, worst).figure("armed_r2") is family
    assert experiment(family, worst).figure("r2") is None


def test_of_two_families_that_would_have_a_figure_the_more_specific_one_has_it() -> None:
    ways = Figure("speedup_{collective}", "ratio", MEDIAN, "shown")
    default = Figure("speedup_over_default_{collective}", "ratio", MEDIAN, "shown")

    assert experiment(ways, default).figure("speedup_over_default_scatter") is default
    assert experiment(ways, default).figure("speedup_scatter") is ways


def test_a_batch_size_is_read_from_the_program_that_has_it(tmp_path: Path) -> None:
    program = tmp_path / "cost.cpp"
    program.write_text("constexpr int rounds = 60;\nconstexpr std::size_t calls = 20'000;\n")

    assert constant(program, "rounds") == 60
    assert constant(program, "calls") == 20_000
    with pytest.raises(ValueError, match="defines no number batch"):
        constant(program, "batch")
