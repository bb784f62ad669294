# SPDX-License-Identifier: BSD-3-Clause
"""The gate launches both sides for real, interleaved, and other systems can call it."""

import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import why_not
from osu_side import side

from lanewise.cli import run
from lanewise.launch.choose import choose, executable_of
from lanewise.launch.native import MEASURE
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.sides import TITLES
from lanewise.results import specimen
from lanewise.results.read import load
from processes import started

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
LIMIT_S = 60.0
Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.2, 1)])
def test_two_programs_that_print_text_are_compared(
    factor: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--", *side(tmp_path, 1.0), "--", *side(tmp_path, factor)]

    assert run(["gate", "-n", "2", "--launches", "8", "--json", *words]) == status

    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == ("slower" if status else "passed")
    assert found["counts"] == [8, 8]
    assert found["interleaved"]


def test_launches_are_kept_as_a_baseline_for_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    even = ["--", *side(tmp_path, 1.0)]
    kept = tmp_path / "kept"
    base = str(kept / "base.jsonl")
    options = ["gate", "-n", "2", "--launches", "8"]

    assert run([*options, "--folder", str(kept), *even, *even]) == 0
    assert run([*options, "--baseline", base, *even]) == 0
    assert run([*options, "--baseline", base, "--", *side(tmp_path, 1.3)]) == 1

    assert "8 and 8 launches, not interleaved" in capsys.readouterr().out
    assert (kept / "candidate.jsonl").is_file()


def test_launches_that_are_kept_are_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "base.jsonl").write_text("kept")
    mark = tmp_path / "started"
    sides = ["--", "touch", str(mark), "--", "touch", str(mark)]

    assert run(["gate", "-n", "2", "--folder", str(kept), *sides]) == 2

    assert "base.jsonl exists; name another --folder, or remove" in capsys.readouterr().err
    assert (kept / "base.jsonl").read_text() == "kept"
    assert not mark.exists()


def test_a_gate_that_does_not_come_to_its_end_leaves_no_baseline(tmp_path: Path) -> None:
    even = ["--", *side(tmp_path, 1.0)]
    once = tmp_path / "once"
    failing = f"{shlex.join(side(tmp_path, 1.0))} && test ! -e {once} && touch {once}"
    words = [*even, "--", "sh", "-c", failing]

    assert run(["gate", "-n", "2", "--folder", str(tmp_path / "kept"), *words]) == 1

    assert once.exists()
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_gate_that_is_stopped_ends_what_its_command_has_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    begun = tmp_path / "begun"
    noted = f"echo $! > {begun}.new; mv {begun}.new {begun}"
    words = ["--", "sh", "-c", f"sleep 600 & {noted}; wait"]
    line = [sys.executable, "-m", "lanewise", "gate", "--launches", "8", *words, *words]
    with started(line, stderr=subprocess.PIPE) as gate:
        deadline_s = time.monotonic() + LIMIT_S
        while not begun.exists() and time.monotonic() < deadline_s:
            time.sleep(0.02)

        gate.send_signal(number)
        said = gate.communicate(timeout=LIMIT_S)[1]

        assert (gate.returncode, said) == (130, "lanewise gate: stopped\n")
        status = Path(f"/proc/{begun.read_text().strip()}/status")
        assert not status.exists() or "State:\tZ" in status.read_text()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", "printed no results: true"),
        ("echo hello", "printed no results that can be read: "),
    ],
)
def test_a_command_that_prints_no_results_is_told_as_such(
    command: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--", *command.split()]

    assert run(["gate", "--launches", "8", *words, *words]) == 1

    said = capsys.readouterr().err
    assert re.match(f"lanewise gate: the (base|candidate) {why}", said)
    assert "launch.txt" not in said


def test_a_baseline_that_is_too_small_is_refused_before_a_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = specimen.write(tmp_path / "base.jsonl", specimen.launched_records(launches=2))

    assert run(["gate", "--baseline", str(base), "--", "false"]) == 2

    assert "2 and 10 launches are too few" in capsys.readouterr().err


def test_a_baseline_that_was_interrupted_is_compared_without_its_last_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = specimen.launched_records(launches=9, sizes_bytes=[8, 1024])
    base = specimen.write(tmp_path / "base.jsonl", records[:-2])
    launch = specimen.write(tmp_path / "launch.jsonl", specimen.records(sizes_bytes=[8, 1024]))
    words = ["--baseline", str(base), "--launches", "8", "--json"]

    assert run(["gate", *words, "--", "cp", str(launch), "{output}"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == [8, 8]
    assert [one["message_bytes"] for one in found["findings"]] == [8, 1024, None]
    assert found["notes"][1] == f"{base}: launch 9 is left out, since it was interrupted"


def test_a_text_is_compared_with_the_loop_of_its_tool_in_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context, *points, end = specimen.launched_records(
        launches=8, operations=("bcast",), sizes_bytes=[8, 1024], context={"ranks": 2}
    )
    loops = [
        specimen.point_record("bcast", size, [1e-5], launch=launch, definition="osu")
        for launch in range(1, 9)
        for size in (8, 1024)
    ]
    base = specimen.write(tmp_path / "base.jsonl", [context, *points, *loops, end])
    words = ["-n", "2", "--baseline", str(base), "--launches", "8", "--json"]

    run(["gate", *words, "--", *side(tmp_path, 1.0)])

    found = json.loads(capsys.readouterr().out)
    assert [one["message_bytes"] for one in found["findings"]] == [8, 1024, None]
    assert [one["base_s"] for one in found["findings"][:2]] == pytest.approx([1e-5, 1e-5])
    assert found["notes"] == []


def test_a_command_writes_samples_to_output(tmp_path: Path) -> None:
    samples = specimen.write(tmp_path / "samples.jsonl", specimen.records(sizes_bytes=[8]))
    words = ["--", "cp", str(samples), "{output}"]

    assert run(["gate", "--launches", "8", *words, *words]) == 0


@pytest.mark.parametrize("form", ["samples", "text"])
def test_a_command_that_launches_its_ranks_more_than_once_is_refused_after_the_first_launch(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if form == "samples":
        samples = specimen.write(tmp_path / "samples.jsonl", specimen.launched_records(launches=5))
        words = ["--", "cp", str(samples), "{output}"]
        several = "wrote results of 5 launches"
    else:
        once = shlex.join(side(tmp_path, 1.0))
        words = ["--", "sh", "-c", f"{once} && {once}"]
        several = "printed results of 2 launches"

    assert run(["gate", "-n", "2", "--launches", "8", *words, *words]) == 1

    said = capsys.readouterr().err
    assert re.match(f"lanewise gate: the (base|candidate) {several}, and each start", said)
    assert "--launches 1" in said


def test_a_command_that_fails_ends_the_gate_with_its_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = ["--", "sh", "-c", "echo broken; exit 3"]

    assert run(["gate", "--launches", "8", "--", *side(tmp_path, 1.0), *failing]) == 1

    said = capsys.readouterr().err
    assert "the candidate ended with status 3" in said
    assert "broken" in said


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["bcast", "--", "A=1"], "name base and candidate after --"),
        (["--", "--"], "no operation to measure"),
        (["bcast", "--", "true", "--", "true"], "leave one out"),
        (["bcast", "--launches", "4", "--", "--"], "use --launches 8:32 or more"),
        (["-n", "two", "--", "true", "--", "true"], "-n two is not a whole number"),
        (["-n", "-2", "--", "true", "--", "true"], "-n -2 is not a whole number"),
        (["bcast", "--launches", "many", "--", "--"], "write 20 or 10:40"),
        (["bcast", "--false-alarms", "0.0001%", "--", "--"], "use --false-alarms 0.0005% or more"),
        (
            ["bcast", "--launches", "40:44", "--false-alarms", "0.00001%", "--", "--"],
            "use --false-alarms 0.0028% or more",
        ),
    ],
)
def test_a_gate_that_cannot_be_served_is_refused_before_a_launch(
    words: list[str], remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gate", *words]) == 2

    assert remedy in capsys.readouterr().err


@pytest.fixture
def open_mpi() -> None:
    if executable_of(LAUNCHERS["openmpi"], os.environ) is None:
        pytest.skip("openmpi is not installed")


@pytest.mark.usefixtures("open_mpi")
def test_ranks_are_launched_with_the_environment_of_their_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Other work on the machine asks for more launches, not for another verdict.
    words = ["bcast", "-n", "2", "--sizes", "8", "--launches", "8:64", "--launcher", "openmpi"]
    slower = "OMPI_MCA_btl=tcp,self"

    status = run(["gate", *words, "--", "OMPI_MCA_btl=vader,self", "--", slower, "-q"])

    assert status == 1
    assert "bcast 8 B" in capsys.readouterr().err


@pytest.mark.usefixtures("open_mpi")
@pytest.mark.parametrize(
    ("words", "reference"),
    [
        (["bcast", "-n", "2"], "used"),
        (["shared_memory_ring", "-n", "2"], "none"),
        (["bcast", "-n", "1"], "none"),
        (["bcast", "-n", "2", "--as", "osu"], "none"),
        (["bcast", "-n", "2", "--method", "tasks"], "none"),
    ],
    ids=[
        "an operation",
        "the reference itself",
        "a single rank",
        "the loop of another tool",
        "single tasks",
    ],
)
def test_each_launch_has_a_reference_where_one_can_be_measured(
    words: list[str], reference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--sizes", "8,1K", "--launches", "6", "--false-alarms", "50%", "--gate", "900%"]

    assert run(["gate", *words, *options, "--launcher", "openmpi", "--json", "--", "--"]) == 0

    found = json.loads(capsys.readouterr().out)
    # Launches that differ by chance as much as the test allows are not compared with a reference.
    assert found["reference"] in {reference, "differs" if reference == "used" else reference}
    judged = {words[0], f"{words[0]} as osu"} if "--as" in words else {words[0]}
    assert {one["operation"] for one in found["findings"]} == judged


@pytest.mark.usefixtures("open_mpi")
def test_sides_on_other_cores_are_compared_without_the_reference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["bcast", "-n", "2", "--sizes", "8", "--launcher", "openmpi", "--json"]
    options = ["--launches", "6", "--false-alarms", "50%", "--gate", "900%"]
    swapped = ["--launcher-args", "--bind-to none"]

    assert run(["gate", *words, *options, "--", "--", *swapped]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["reference"] == "none"
    assert any("have their ranks on different cores" in note for note in found["notes"])


@pytest.mark.parametrize("form", ["options", "commands"])
def test_two_installations_of_mpi_are_launched_each_by_its_own_launcher(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[str] = [] if form == "commands" else ["bcast", "-n", "2", "--sizes", "8"]
    for family in ("openmpi", "mpich"):
        if why_not(family):
            pytest.skip(why_not(family))
        chosen = choose(family, os.environ)
        program = str(chosen.build.program(MEASURE))
        measure = [program, "bcast", "--sizes", "8", "--time-limit", "50ms"]
        command = [chosen.executable, "-n", "2", *measure, "-o", "{output}"]
        words += ["--", *(command if form == "commands" else ["--launcher", family])]
    options = ["--launches", "4", "--false-alarms", "50%", "--folder", str(tmp_path), "--json"]

    assert run(["gate", *options, *words]) in (0, 1)

    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == [4, 4]
    sides = [load(tmp_path / f"{side}.jsonl").context.library for side in TITLES]
    assert [library.partition(" ")[0] for library in sides] == ["Open", "MPICH"]
    (note,) = (note for note in found["notes"] if note.startswith(f"the base is {sides[0]}"))
    assert f", the candidate {sides[1]}" in note


def test_the_reframe_check_compiles_and_calls_the_gate_with_options_that_it_has() -> None:
    text = (PACKAGING / "reframe" / "lanewise_gate.py").read_text(encoding="utf-8")
    compile(text, "lanewise_gate.py", "exec")

    assert_known(option for option in text.replace('"', " ").split() if option.startswith("--"))


def reframe_check(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the check with the little of ReFrame that it calls."""

    def assert_found(pattern: str, text: str, msg: str) -> bool:
        assert re.search(pattern, text, re.MULTILINE), msg
        return True

    def as_it_is(*_: object, **__: object) -> Any:
        return lambda decorated: decorated

    def default(kind: type, value: object) -> object:
        return value

    parts: dict[str, dict[str, Any]] = {
        "reframe": {"simple_test": lambda check: check, "RunOnlyRegressionTest": object},
        "reframe.core": {},
        "reframe.core.builtins": {"performance_function": as_it_is, "run_before": as_it_is,
                                  "sanity_function": lambda method: method, "variable": default},
        "reframe.utility": {},
        "reframe.utility.sanity": {"assert_found": assert_found, "all": all},
    }  # fmt: skip
    for name, contents in parts.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(PACKAGING / "reframe" / "lanewise_gate.py"))["LanewiseGate"]()


def test_the_reframe_check_takes_the_baseline_from_where_reframe_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PACKAGING / "reframe")  # where ReFrame reads a check
    check = reframe_check(monkeypatch)
    monkeypatch.chdir(tmp_path)

    for baseline in ("kept/base.jsonl", str(tmp_path / "kept/base.jsonl")):
        check.baseline = baseline
        check.set_options()

        given = dict(pairwise(check.executable_opts))
        assert given["--baseline"] == str(tmp_path / "kept/base.jsonl")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("slower by more than 5 %: bcast 8 B +30 %", "the candidate is slower"),
        ("", "lanewise gate came to no verdict"),
    ],
)
def test_the_reframe_check_tells_an_alarm_from_a_gate_without_verdict(
    monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    check = reframe_check(monkeypatch)
    check.stdout = f"# 10 launches\n{said}\n"

    with pytest.raises(AssertionError, match=reason):
        check.passed()


def test_the_action_calls_the_gate_with_options_that_it_has() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = loaded(yaml, "action.yml")
    workflow = loaded(yaml, "example-workflow.yml")
    (step,) = action["runs"]["steps"]
    used = next(
        one for one in workflow["jobs"]["gate"]["steps"] if "github-action" in one.get("uses", "")
    )

    assert set(used["with"]) <= set(action["inputs"])
    assert_known(word for word in step["run"].split() if word.startswith("--") and word != "--")


def test_the_workflow_names_no_repository_that_may_not_exist() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    steps = loaded(yaml, "example-workflow.yml")["jobs"]["gate"]["steps"]

    named = [step["with"]["repository"] for step in steps if "repository" in step.get("with", {})]

    assert named == ["${{ vars.LANEWISE_REPOSITORY }}"]
    guide = (PACKAGING.parent / "docs" / "gate.md").read_text(encoding="utf-8")
    assert "LANEWISE_REPOSITORY" in guide
    (path,) = [step["uses"] for step in steps if step.get("uses", "").startswith("./lanewise/")]
    assert (PACKAGING.parent / path.removeprefix("./lanewise/") / "action.yml").is_file()


def test_the_action_ends_with_the_status_of_the_gate(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    action = loaded(yaml, "action.yml")
    lanewise = tmp_path / "lanewise"
    lanewise.write_text(f'#!/bin/sh\nexec {sys.executable} -m lanewise "$@"\n', encoding="utf-8")
    lanewise.chmod(0o755)
    base, slower = (shlex.join(side(tmp_path, factor)) for factor in (1.0, 1.3))
    environment = {
        **os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MEASURE": "-n 2",
        "BASE": base, "CANDIDATE": slower, "BASELINE": "", "GATE": "5%", "FALSE_ALARMS": "1%",
        "LAUNCHES": "8", "JUNIT": "gate.xml", "SUMMARY": "gate.md",
        "GITHUB_STEP_SUMMARY": "summary.md",
    }  # fmt: skip

    done = subprocess.run(
        ["bash", "-c", action["runs"]["steps"][0]["run"]], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    assert "### Communication: slower" in (tmp_path / "summary.md").read_text()
    assert_nothing_is_shown_of_the_gate_before(action, tmp_path, environment)


def test_the_action_keeps_a_baseline_where_launches_of_a_gate_before_are_removed(
    tmp_path: Path,
) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (step,) = loaded(yaml, "action.yml")["runs"]["steps"]
    launches = tmp_path / "launches"
    launches.mkdir()
    for name in ("base.jsonl", "candidate.jsonl"):
        (launches / name).write_text("kept", encoding="utf-8")
    inputs = ("MEASURE", "BASE", "CANDIDATE", "GATE", "FALSE_ALARMS", "LAUNCHES")
    environment = {
        **os.environ, **dict.fromkeys(inputs, ""), "BASELINE": "./launches/base.jsonl",
        "JUNIT": "gate.xml", "SUMMARY": "gate.md", "GITHUB_STEP_SUMMARY": "summary.md",
    }  # fmt: skip

    subprocess.run(["bash", "-c", step["run"]], cwd=tmp_path, env=environment, check=False)

    assert [path.name for path in launches.iterdir()] == ["base.jsonl"]


def test_the_action_refuses_a_base_beside_a_baseline(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (step,) = loaded(yaml, "action.yml")["runs"]["steps"]
    environment = {**os.environ, "BASE": "./old", "BASELINE": "launches.jsonl"}

    done = subprocess.run(
        ["bash", "-c", step["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "lanewise gate: base and baseline are both given; give one of them\n"


def assert_nothing_is_shown_of_the_gate_before(
    action: Any, folder: Path, environment: dict[str, str]
) -> None:
    """A gate that does not start leaves neither a summary nor a verdict of the one before it."""
    done = subprocess.run(
        ["bash", "-c", action["runs"]["steps"][0]["run"]], cwd=folder,
        env={**environment, "MEASURE": "--nonsense", "GITHUB_STEP_SUMMARY": "second.md"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2, done.stderr
    assert not (folder / "second.md").exists()
    assert not (folder / "gate.xml").exists()


def loaded(yaml: Any, name: str) -> Any:
    return yaml.safe_load((PACKAGING / "github-action" / name).read_text(encoding="utf-8"))


def assert_known(options: Any) -> None:
    page = (ROOT / "docs" / "reference" / "lanewise-gate.md").read_text(encoding="utf-8")
    for option in options:
        assert f"`{option} " in page or f"`{option}`" in page, option
