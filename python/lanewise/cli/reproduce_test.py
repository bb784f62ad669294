# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise reproduce` lists what a clone has, and says in one line what it cannot run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import lanewise
from experiments import registry
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.workspace import Workspace
from lanewise.cli import run


def test_without_a_name_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce"]) == 0

    assert "timing-methods" in capsys.readouterr().out


def test_the_list_is_one_object_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--list", "--json"]) == 0

    assert len(json.loads(capsys.readouterr().out)["experiments"]) >= 5


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "pipeline-efect"]) == 2

    assert "did you mean pipeline-effect?" in capsys.readouterr().err


def test_an_experiment_that_cannot_run_here_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANEWISE_NATIVE", str(tmp_path))

    assert run(["reproduce", "interval-coverage", "--folder", str(tmp_path / "out")]) == 1

    assert "name a build folder" in capsys.readouterr().err


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an experiment in the registry that measures a speedup of 3 and should reach 4."""
    outcome = Outcome(
        {"speedup": 3.0}, [Row("speedup", "4", "3")], conditions={}, files=[Path("stub.png")]
    )
    once = Estimator("time", 1, 1, "run")
    figures = (Figure("speedup", "ratio", once, Target(">=", 4.0)),)

    def run_stub(_workspace: Workspace) -> Outcome:
        return outcome

    stub = Experiment("stub", "000 §1", "a stub", run_stub, figures, quick=Quick(run_stub, 1.0))
    whole = Experiment("whole", "000 §1", "a stub that is always whole", run_stub, figures)
    monkeypatch.setattr(registry, "EXPERIMENTS", (stub, whole))


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_missed_target_ends_with_status_1_and_is_shown(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = ["--folder", str(tmp_path), "--results", str(tmp_path / "results")]

    assert run(["reproduce", "stub", *options, *folders]) == 1

    printed = capsys.readouterr().out
    if options:
        assert json.loads(printed)["targets"]["speedup"]["met"] is False
    else:
        assert "MISSED, 3; 0 of 1 launch within it (time; 1 launch of 1 run)" in printed


@pytest.mark.usefixtures("stub")
def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    folders = ["--folder", str(tmp_path), "--results", str(tmp_path / "results")]

    for _ in range(2):
        run(["reproduce", "stub", *folders])

    lines = (tmp_path / "results" / "stub.jsonl").read_text().splitlines()
    assert [json.loads(line)["figures"] for line in lines] == [{"speedup": 3.0}] * 2


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run of an experiment be a failure of the test."""

    def refuse(*_words: object, **_options: object) -> None:
        pytest.fail("it was run")

    monkeypatch.setattr("experiments.run.run_experiment", refuse)


@pytest.mark.usefixtures("stub", "never_run")
def test_a_run_that_could_not_be_kept_is_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    folders = ["--folder", str(tmp_path), "--results", str(tmp_path / "file")]

    assert run(["reproduce", "stub", *folders]) == 2
    assert "name another with --results" in capsys.readouterr().err


@pytest.mark.usefixtures("stub")
def test_a_run_that_cannot_be_kept_after_all_is_kept_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, kept = tmp_path / "out", tmp_path / "kept"
    kept.mkdir()
    (kept / "stub.jsonl").write_text("")
    monkeypatch.setattr("experiments.results.require_writable", lambda *_words: None)
    (kept / "stub.jsonl").unlink()
    (kept / "stub.jsonl").mkdir()

    assert run(["reproduce", "stub", "--folder", str(folder), "--results", str(kept)]) == 1

    spare = folder / "stub-not-kept.jsonl"
    said = capsys.readouterr().err
    assert f"its line is in {spare}; append it: tail -n 1 {spare} >> {kept}/stub.jsonl" in said
    assert said.endswith("; then run python -m experiments.published\n")
    (line,) = spare.read_text().splitlines()
    assert json.loads(line)["figures"] == {"speedup": 3.0}


@pytest.mark.usefixtures("stub")
def test_a_run_with_a_figure_that_is_not_declared_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"speedup": 5.0, "typo": 1.0, "slip": 2.0}
    outcome = Outcome(figures, [], conditions={}, files=[Path("stub.png")])
    other = replace(registry.EXPERIMENTS[0], run=lambda _workspace: outcome)
    monkeypatch.setattr(registry, "EXPERIMENTS", (other,))
    folders = ["--folder", str(tmp_path), "--results", str(tmp_path / "results")]

    assert run(["reproduce", "stub", *folders]) == 1

    said = capsys.readouterr().err
    assert "does not declare the figure typo" in said
    assert "does not declare the figure slip" in said
    assert not (tmp_path / "stub.jsonl").exists()
    assert not (tmp_path / "results" / "stub.jsonl").exists()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the package look as if it were installed, with no clone around it."""
    monkeypatch.setattr(lanewise, "__file__", str(tmp_path / "lib/lanewise/__init__.py"))


@pytest.mark.usefixtures("installed")
def test_without_a_clone_one_line_says_what_is_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["reproduce", "pipeline-effect"]) == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "not installed; run it in a clone" in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.usefixtures("installed")
def test_without_a_clone_the_help_leaves_the_command_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["--help"])

    assert "reproduce" not in capsys.readouterr().out


def test_in_a_clone_the_help_has_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])

    assert "reproduce" in capsys.readouterr().out


REFUSED = {
    "means all": "pipeline-effect --all",
    "-o names the page": "-o papers.html",
    "is not named like a page": "--all -o papers.json",
    "make the folder": "--all -o nowhere/papers.html",
    "is a folder": "--all -o folder.html",
    "add --all": "--from-results",
    "runs nothing": "--all --from-results --quick",
    "--quick is for an experiment": "--quick",
    "is not kept": "opt-scatter --quick --results kept",
    "leave out --results": "--all --quick --results kept",
    "gate has no smaller scale and takes about ": "gate --quick",
}


@pytest.mark.parametrize(("complaint", "words"), REFUSED.items(), ids=REFUSED)
def test_what_does_not_go_together_gets_one_line(
    complaint: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder.html").mkdir()
    monkeypatch.chdir(tmp_path)

    assert run(["reproduce", *words.split()]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert complaint in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


@pytest.mark.usefixtures("stub")
def test_a_quick_run_is_neither_kept_nor_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.results.FOLDER", tmp_path / "kept")

    assert run(["reproduce", "stub", "--quick", "--folder", str(tmp_path)]) == 0

    printed = capsys.readouterr().out
    assert "not judged and not kept" in printed
    assert "MISSED" not in printed
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("stub")
def test_the_json_of_a_quick_run_says_so_and_has_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, quick in (["--quick"], True), (["--results", str(tmp_path / "kept")], False):
        run(["reproduce", "stub", "--json", "--folder", str(tmp_path), *options])

        printed = json.loads(capsys.readouterr().out)
        assert printed["quick"] is quick
        assert bool(printed["targets"]) is not quick


@pytest.mark.usefixtures("stub", "never_run")
def test_what_has_no_smaller_scale_is_not_run_quickly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "whole", "--quick", "--folder", str(tmp_path)]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert "whole has no smaller scale and takes about 4 min; leave out --quick" in line
