# SPDX-License-Identifier: BSD-3-Clause
"""What is published of kept runs: ranges over all of them, and how often the target was met."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from experiments import published, results
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Target
from experiments.registry import EXPERIMENTS
from lanewise.errors import RunError

FIGURES = (
    Figure("ratio", "ratio", Estimator("median", 3, 60, "rounds"), Target("<=", 1.05)),
    Figure("{way}_s", "s", Estimator("time", 1, 1, "run"), "it depends on the machine"),
)
EXPERIMENT = Experiment("cost", "000 §4", "x", lambda _workspace: Outcome({}, [], {}, []), FIGURES)


def record(day: str, load: float, figures: dict[str, float | None], **more: Any) -> dict[str, Any]:
    """Return a kept run."""
    conditions = {"cores": 2, "processor": "EPYC", "load_average": load}
    kept = {"date": f"{day}T10:00:00", "commit": "abcdef012345", "figures": figures}
    return {**kept, "conditions": conditions, **more}


RECORDS = [
    record("2026-11-23", 0.5, {"ours_s": 0.5, "ratio": 1.01}),
    record(
        "2026-11-24",
        9.0,
        {"ratio": 1.2},
        launches={"ratio": [1.0, 1.2, 1.3]},
        commit="abcdef012345-dirty",
    ),
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
    assert published._found(never, "ratio") == "undefined; met in 0 of 1"
    left_out = published.Runs(EXPERIMENT, [absent])
    assert published._found(left_out, "ratio") == "not measured; met in 0 of 1"


def test_a_figure_that_is_newer_than_all_runs_was_not_recorded_in_them() -> None:
    older = record("2026-11-25", 0.5, {"ours_s": 1.0}, targets={})

    assert published._found(published.Runs(EXPERIMENT, [older]), "ratio") == (
        "not recorded in these runs"
    )
    undefined = record("2026-11-25", 0.5, {"ours_s": None})
    assert published._found(published.Runs(EXPERIMENT, [undefined]), "ours_s") == "undefined"
    assert published._found(published.Runs(EXPERIMENT, []), "ratio") == "not measured"


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
        "2 runs, 23 November 2026 to 24 November 2026, load average 0.5 to 9.0, on 2 cores of "
        "EPYC, 1 of 2 with uncommitted changes."
    )
    assert published.Runs(EXPERIMENT, []).conditions() == "No run is kept."


DECLARED = {"estimator": "median", "launches": 3, "batch": 60, "batch_of": "rounds"}
CHANGES: tuple[dict[str, object], ...] = (
    {"estimator": "mean"}, {"batch_of": "pairs"}, {"launches": 1}, {"batch": 5},
)  # fmt: skip


def test_runs_that_were_not_estimated_as_is_declared_now_are_told() -> None:
    alike = record("2026-11-25", 0.5, {"ratio": 1.0}, figures_as={"ratio": DECLARED})
    others = [{**alike, "figures_as": {"ratio": {**DECLARED, **change}}} for change in CHANGES]
    judged = {**record("2026-11-25", 0.5, {"ratio": 1.0}), "targets": {"ratio": CHANGES[0]}}

    assert not published.Runs(EXPERIMENT, [alike]).estimators()
    for other in [*others, judged]:
        assert (
            published.Runs(EXPERIMENT, [alike, other]).estimators().endswith("; 1 run had others.")
        )
    assert "; 4 runs had others" in published.Runs(EXPERIMENT, others).estimators()


def test_runs_that_do_not_say_how_each_figure_was_estimated_are_told() -> None:
    figures: dict[str, float | None] = {"ratio": 1.0, "ours_s": 2.0}
    judged = record("2026-11-25", 0.5, figures, targets={"ratio": DECLARED})
    other = {**judged, "targets": {"ratio": {**DECLARED, "batch": 5}}}

    assert published.Runs(EXPERIMENT, [judged, other, other]).estimators() == (
        " The estimators below are the current ones; 2 runs had others and 1 run did not record "
        "them for all figures."
    )


def test_runs_whose_sources_nobody_else_has_are_told() -> None:
    gone = min(published.GONE)
    runs = [
        record("2026-11-25", 0.5, {}, commit=commit)
        for commit in ("abcdef012345", "abcdef012345-dirty", f"{gone}-dirty", gone)
    ]

    assert published.Runs(EXPERIMENT, runs).conditions().partition(" of EPYC, ")[2] == (
        "2 of 4 with uncommitted changes, 2 of 4 on a commit that is no longer in the repository."
    )
    assert "uncommitted" not in published.Runs(EXPERIMENT, runs[:1]).conditions()


def test_every_commit_that_a_kept_run_names_is_here_or_known_to_be_gone() -> None:
    named = {
        str(run["commit"]).removesuffix(results.DIRTY)
        for experiment in EXPERIMENTS
        for run in results.read(experiment.name)
    } - {results.UNKNOWN}
    git = ["git", "-C", str(published.ROOT)]
    # Not by asking for the objects: one that no branch has is in this clone alone.
    done = subprocess.run(
        [*git, "rev-list", "--branches", "HEAD"], capture_output=True, text=True, check=False
    )
    here = {line[:12] for line in done.stdout.split()}
    missing = named - here
    if done.returncode != 0 or missing == named:
        pytest.skip("the history of the repository is not here")
    shallow = subprocess.run(
        [*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("the history of the repository is not all here")

    assert missing <= published.GONE


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
