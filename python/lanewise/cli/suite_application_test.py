# SPDX-License-Identifier: BSD-3-Clause
"""If a program fails, `lanewise suite app` keeps its times and its status says that some lack."""

import json
from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.suite.scale import Curve

RAN = Curve("openmpi-tcp", {1: [1.0, 1.0], 2: [1.0, 1.0]})
FAILED_ON_TWO = Curve("openmpi-shm", {1: [1.0, 1.0]}, "no memory (status 1)")
FAILED = Curve("openmpi-shm", {}, "no such transport (status 1)")

Capture = pytest.CaptureFixture[str]


def status(
    curves: list[Curve], named: list[str], output: Path, monkeypatch: pytest.MonkeyPatch
) -> int:
    """Run the command where measuring gives `curves`, and return its status."""
    monkeypatch.setattr("lanewise.suite.scale.measure", lambda *_: curves)
    monkeypatch.setattr("lanewise.cli.suite_application.chosen", lambda *_: [])
    return run(["suite", "app", "-n", "1,2", *named, "-o", str(output), "--", "sh"])


@pytest.mark.parametrize(
    ("named", "curve"),
    [
        ([], FAILED_ON_TWO),
        (["--transports", "openmpi-tcp,openmpi-shm"], FAILED_ON_TWO),
        (["--transports", "openmpi-tcp,openmpi-shm"], FAILED),
    ],
)
def test_a_program_that_fails_fails_the_command_which_keeps_the_other_times(
    named: list[str],
    curve: Curve,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = tmp_path / "times.json"

    assert status([RAN, curve], named, times, monkeypatch) == 1

    out, err = capsys.readouterr()
    assert f"openmpi-shm failed: {curve.why}" in err
    assert "sh failed over openmpi-shm; " in err
    assert out.count("openmpi-tcp") == 2
    kept = json.loads(times.read_text())["transports"]
    assert kept["openmpi-tcp"]["times_s"] == {"1": [1.0, 1.0], "2": [1.0, 1.0]}


def test_a_transport_that_nobody_named_and_that_never_runs_is_left_out(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status([RAN, FAILED], [], tmp_path / "times.json", monkeypatch) == 0

    assert f"openmpi-shm failed: {FAILED.why}" in capsys.readouterr().err
