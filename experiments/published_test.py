# SPDX-License-Identifier: BSD-3-Clause
"""What is published of kept runs: ranges over all of them, and how often the target was met."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments import published
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Target
from lanewise.errors import RunError

FIGURES = (
    Figure("ratio", "ratio", Estimator("median", 3, 60, "rounds"), Target("<=", 1.05)),
    Figure("{way}_s", "s", Estimator("time", 1, 1, "run"), "it depends on the machine"),
)
EXPERIMENT = Experiment("cost", "000 §4", "x", lambda _workspace: Outcome({}, [], {}, []), FIGURES)


def record(day: str, load: float, figures: dict[str, float | None], **more: Any) -> dict[str, Any]:
    """Return a kept run."""
    conditions = {"cores": 2, "processor": "EPYC", "load_average": load}
    return {"date": f"{day}T10:00:00", "figures": figures, "conditions": conditions, **more}


RECORDS = [
    record("2026-11-23", 0.5, {"ours_s": 0.5, "ratio": 1.01}),
    record("2026-11-24", 9.0, {"ratio": 1.2}, launches={"ratio": [1.0, 1.2, 1.3]}),
]
RUNS = published.Runs(EXPERIMENT, RECORDS)


def test_a_range_is_over_all_runs_and_counts_those_that_missed() -> None:
    assert published.range_text(RUNS.values("ratio")) == "1.01 to 1.20"
    assert RUNS.verdict("ratio") == "met in 1 of 2, launches 1 of 3"
    assert RUNS.verdict("ours_s") == ""


def test_a_run_that_did_not_measure_a_figure_has_missed_its_target() -> None:
    unmeasured = record("2026-11-25", 0.5, {"ratio": None}, targets={"ratio": {}})
    absent = record("2026-11-26", 0.5, {}, targets={"ratio": {}})
    without = record("2026-11-27", 0.5, {}, targets={})

    runs = published.Runs(EXPERIMENT, [RECORDS[0], unmeasured, absent, without])

    assert runs.verdict("ratio") == "met in 1 of 3"
    never = published.Runs(EXPERIMENT, [unmeasured])
    assert published._found(never, "ratio") == "not measured; met in 0 of 1"


def test_intervals_that_reach_beyond_a_target_are_told_and_not_judged_themselves() -> None:
    ends = [{"ratio_low": 0.9, "ratio_high": high} for high in (1.04, 1.2)]
    records = [record("2026-11-25", 0.5, {"ratio": 1.0, **each}) for each in ends]

    runs = published.Runs(EXPERIMENT, records)

    beyond = "interval beyond the target in 1 of 2 (0.900 to 1.20)"
    assert runs.verdict("ratio") == f"met in 2 of 2, {beyond}"
    assert published.Runs(EXPERIMENT, records[:1]).verdict("ratio") == "met in 1 of 1"
    assert runs.verdict("ratio_high") == ""


def test_keys_stand_in_the_order_in_which_they_are_declared() -> None:
    assert RUNS.keys == ["ratio", "ours_s"]


def test_the_conditions_are_those_of_all_runs() -> None:
    assert RUNS.conditions() == (
        "2 runs, 23 November 2026 to 24 November 2026, load average 0.5 to 9.0, on 2 cores of EPYC."
    )
    assert published.Runs(EXPERIMENT, []).conditions() == "No run is kept."


def test_runs_that_were_not_estimated_as_is_declared_now_are_told() -> None:
    judged = {"ratio": {"estimator": "median", "batch_of": "rounds"}}
    as_declared = record("2026-11-25", 0.5, {"ratio": 1.0}, targets=judged)
    of_mean = {"ratio": {**judged["ratio"], "estimator": "mean"}}
    of_pairs = {"ratio": {**judged["ratio"], "batch_of": "pairs"}}
    unlike: tuple[dict[str, Any], ...] = (of_mean, of_pairs, {"ratio": {}})
    others = [{**as_declared, "targets": targets} for targets in unlike]

    assert not published.Runs(EXPERIMENT, [as_declared]).estimators()
    for other in others:
        assert "; 1 run had others" in published.Runs(EXPERIMENT, [as_declared, other]).estimators()
    assert "; 3 runs had others" in published.Runs(EXPERIMENT, others).estimators()


def test_a_kept_figure_that_is_not_declared_is_refused() -> None:
    with pytest.raises(RunError, match="cost declares no figure cost_ns"):
        RUNS.figure("cost_ns")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (1.2345, "1.23"), (4e-5, "4e-05"), (188_456.0, "188,000")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert published.number_text(value) == text


def test_runs_are_read_by_date(tmp_path: Path) -> None:
    lines = [json.dumps(each) for each in reversed(RECORDS)]
    (tmp_path / "cost.jsonl").write_text("\n".join(lines) + "\n")

    assert published.runs_of(EXPERIMENT, tmp_path).records == RECORDS
