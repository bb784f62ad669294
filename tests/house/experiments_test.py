# SPDX-License-Identifier: BSD-3-Clause
"""Every experiment says how its figures are judged, and what is published is what was kept."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tree

from experiments import published, results, show
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Target
from experiments.registry import EXPERIMENTS
from experiments.run import Finished

REASON_LETTERS_MIN = 12
EACH = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)


def offences(experiment: Experiment) -> list[str]:
    """Return what an experiment leaves open about its figures."""
    found = []
    names = [figure.name for figure in experiment.figures]
    if not names:
        found.append(f"{experiment.name} declares no figures")
    if len(set(names)) != len(names):
        found.append(f"{experiment.name} declares a figure twice")
    for figure in experiment.figures:
        place = f"{experiment.name}, {figure.name}"
        estimator = figure.estimator
        if not (figure.unit and estimator.text and estimator.of):
            found.append(f"{place}: unit or estimator is missing")
        if min(estimator.launches, estimator.batch) < 1:
            found.append(f"{place}: launches and batch are at least 1")
        if figure.target is None and len(figure.why_none) < REASON_LETTERS_MIN:
            found.append(f"{place} has no target; say why not")
        if figure.target and "{" in figure.name:
            found.append(f"{place}: a target is for one key; name it")
    return found


@EACH
def test_every_figure_has_an_estimator_and_a_target_or_a_reason(experiment: Experiment) -> None:
    assert offences(experiment) == []


ONCE = Estimator("median", 1, 1, "run")
OFFENCES = {
    "declares no figures": (),
    "declares a figure twice": (Figure("a", "s", ONCE, Target("<=", 1)),) * 2,
    "unit or estimator": (Figure("a", "", ONCE, Target("<=", 1)),),
    "launches and batch": (Figure("a", "s", Estimator("median", 0, 1, "run"), Target("<=", 1)),),
    "say why not": (Figure("a", "s", ONCE, ""),),
    "for one key": (Figure("{a}_s", "s", ONCE, Target("<=", 1)),),
}


@pytest.mark.parametrize(("offence", "figures"), OFFENCES.items(), ids=OFFENCES)
def test_what_is_left_open_is_caught(offence: str, figures: tuple[Figure, ...]) -> None:
    (said,) = offences(Experiment("x", "000 §1", "", EXPERIMENTS[0].run, figures))

    assert offence in said


def finished(experiment: Experiment, missed: str) -> Finished:
    """Return a run that keeps every target but one, which its first launch alone keeps."""
    values: dict[str, float] = {}
    launches: dict[str, list[float]] = {}
    for figure in experiment.figures:
        if figure.target is None:
            values[re.sub(r"\{\w+\}", "some", figure.name)] = 1.0
            continue
        kept = figure.target.value
        beyond = kept + (1 if figure.target.op == "<=" else -1)
        values[figure.name] = beyond if figure.name == missed else kept
        others = figure.estimator.launches - 1
        launches[figure.name] = [kept] + [values[figure.name]] * others
    return Finished(experiment, Outcome(values, [], {}, [Path("plot.png")], launches=launches))


@EACH
def test_a_run_that_misses_any_one_target_has_missed(experiment: Experiment) -> None:
    assert finished(experiment, "").met
    assert finished(experiment, "").faults == []
    for name in experiment.targets:
        assert not finished(experiment, name).met, name


@EACH
def test_every_run_prints_the_launches_within_each_target_and_why_others_have_none(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    for missed in ["", *experiment.targets]:
        show.print_outcome(finished(experiment, missed))
        printed = capsys.readouterr().out

        for figure in experiment.figures:
            number = figure.estimator.launches
            within = 1 if figure.name == missed else number
            said = f"{within} of {number} launch{'es' * (number > 1)} within it"
            if figure.target:
                (line,) = re.findall(rf"^target {re.escape(figure.name)} .*$", printed, re.M)
                assert ("MISSED" in line) == (figure.name == missed)
                assert said in line
            else:
                assert figure.why_none in printed


@EACH
def test_every_experiment_draws_a_plot(experiment: Experiment) -> None:
    module = sys.modules[experiment.run.__module__]

    assert "workspace.save(" in inspect.getsource(module)


@EACH
def test_every_kept_run_has_declared_figures_and_its_conditions(experiment: Experiment) -> None:
    for run in results.read(experiment.name):
        undeclared = [key for key in run["figures"] if experiment.figure(key) is None]

        assert undeclared == [], f"{run['date']} of {experiment.name}"
        assert {"date", "commit", "conditions"} <= run.keys()
        assert {"cores", "kernel"} <= run["conditions"].keys()


@EACH
def test_no_run_is_kept_twice(experiment: Experiment) -> None:
    dates = [run["date"] for run in results.read(experiment.name)]

    assert len(set(dates)) == len(dates)


def test_every_kept_run_is_of_an_experiment() -> None:
    names = {experiment.name for experiment in EXPERIMENTS}

    assert {path.stem for path in results.FOLDER.glob("*.jsonl")} <= names


def test_no_kept_run_was_ever_removed() -> None:
    line = ["git", "-C", str(tree.ROOT), "log", "--numstat", "--format=%h", "--no-renames"]
    folder = results.FOLDER.relative_to(tree.ROOT)
    done = subprocess.run(
        [*line, "--", str(folder)], capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode != 0 or not done.stdout:
        pytest.skip("the history of the repository is not here")

    removed = re.findall(r"^\d+\t([1-9]\d*)\t(.+)$", done.stdout, re.MULTILINE)

    assert removed == [], "runs are only ever appended; put the lines back"


def test_the_pages_have_the_figures_of_all_kept_runs() -> None:
    stale = [str(path) for path in published.stale(tree.ROOT)]

    assert stale == [], "not what the kept runs say; run: python -m experiments.published"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return the root of a copy of what the pages are made of, with a guide that quotes."""
    shutil.copytree(results.FOLDER, tmp_path / results.FOLDER.relative_to(tree.ROOT))
    (tmp_path / "docs").mkdir()
    quoted = "before\n\n<!-- experiments: global-clock: error_us_max -->\nold\n"
    (tmp_path / "docs/guide.md").write_text(f"{quoted}{published.END}\n\nafter\n")
    published.write(tmp_path)
    return tmp_path


def test_a_guide_keeps_its_text_around_what_it_quotes(clone: Path) -> None:
    text = (clone / "docs/guide.md").read_text()

    assert text.startswith("before\n")
    assert text.endswith(f"\n{published.END}\n\nafter\n")
    assert "old" not in text
    assert "| `global-clock` | `error_us_max` | <= 1 | " in text


def test_another_kept_run_makes_the_pages_stale_whatever_it_gave(clone: Path) -> None:
    assert published.stale(clone) == []
    kept = clone / results.FOLDER.relative_to(tree.ROOT) / "global-clock.jsonl"
    run = json.loads(kept.read_text().splitlines()[-1])
    run["figures"]["error_us_max"] = 7777.0
    with kept.open("a") as file:
        file.write(json.dumps(run) + "\n")

    assert published.stale(clone) == [published.PAGE, Path("docs/guide.md")]
    published.write(clone)
    assert " to 7777 µs" in (clone / "docs/guide.md").read_text()
