# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model fit --measure` ends what it has started before it ends itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lanewise.cli import run

EXPERIMENTS = {"experiments": [{"name": "pairs", "operation": "pairs", "arguments": ""}]}
LIMIT_S = 60.0

# The command, whose measurement is a program that needs a moment to end its ranks.
FITTING = f"""
import signal, sys
from lanewise.__main__ import main
from lanewise.cli.model import fit

fit.ask = lambda *_: '{json.dumps(EXPERIMENTS)}'
sys.executable = "./measure"
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
sys.argv[1:] = ["model", "fit", "--measure", "-n", "2"]
main()
"""
MEASURE = """#!/bin/sh
trap 'sleep 0.5; touch ended; exit 130' TERM
touch started
while :; do sleep 0.1; done
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_measurement_is_stopped_and_waited_for(tmp_path: Path, number: signal.Signals) -> None:
    measure = tmp_path / "measure"
    measure.write_text(MEASURE)
    measure.chmod(0o755)
    fitting = subprocess.Popen(
        [sys.executable, "-c", FITTING], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline_s = time.monotonic() + LIMIT_S
    while not (tmp_path / "started").exists() and time.monotonic() < deadline_s:
        time.sleep(0.02)

    fitting.send_signal(number)
    try:
        said = fitting.communicate(timeout=LIMIT_S)[1]
    finally:
        fitting.terminate()

    assert fitting.returncode == 130
    assert said.splitlines()[-1] == "lanewise model fit: stopped"
    assert (tmp_path / "ended").exists()


def test_a_platform_in_the_place_of_samples_is_refused_before_they_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lanewise.cli.model.fit.ask", lambda *_: json.dumps(EXPERIMENTS))

    assert run(["model", "fit", "--measure", "-n", "2", "-o", "samples/pairs.jsonl"]) == 2

    assert "make the folder" in capsys.readouterr().err
    (tmp_path / "samples").mkdir()
    assert run(["model", "fit", "--measure", "-n", "2", "-o", "samples/pairs.jsonl"]) == 2
    assert "-o samples/pairs.jsonl is another file of this command" in capsys.readouterr().err
