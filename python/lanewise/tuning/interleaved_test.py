# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved runs change their order, a failure ends them, and their file can be read back."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from lanewise.errors import RequestError, RunError
from lanewise.tuning.interleaved import Interleaved, load, run_interleaved, write

SCHEMA = Path(__file__).parents[3] / "schema/interleaved.schema.json"


def ticking(step_s: float) -> itertools.count[float]:
    return itertools.count(0.0, step_s)


def test_the_order_changes_every_round(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = {
        name: [sys.executable, "-c", f"open({str(log)!r}, 'a').write({name[0]!r})"]
        for name in ("plain", "tuned")
    }
    ticks = ticking(0.5)

    seconds = run_interleaved(commands, 3, {}, clock=lambda: next(ticks))

    assert log.read_text() == "pttppt"
    assert seconds == {"plain": [0.5] * 3, "tuned": [0.5] * 3}


def test_a_run_that_fails_is_named_with_its_status() -> None:
    with pytest.raises(RunError, match="the tuned run ended with status 3"):
        run_interleaved({"tuned": [sys.executable, "-c", "raise SystemExit(3)"]}, 2, {})


READERS = """
import os
from lanewise.tuning.interleaved import run_interleaved
lines = ["sh", "-c", "wc -l >&2"]
run_interleaved({"plain": lines, "tuned": lines}, 2, os.environ)
"""


def test_each_run_gets_all_of_the_standard_input() -> None:
    done = subprocess.run([sys.executable, "-c", READERS], input="1\n2\n3\n",
                          capture_output=True, text=True, check=True)  # fmt: skip

    assert done.stderr.split() == ["3"] * 4


INTERLEAVED = """
import os, signal, sys
from lanewise.errors import RunError
from lanewise.tuning.interleaved import run_interleaved
signal.signal(signal.SIG{name}, {handler})
wait = "for i in $(seq 500); do sleep 0.01; done"
launcher = f"trap 'echo told; exit 7' {passed}; echo started; {{wait}}"
try:
    run_interleaved({{"plain": ["sh", "-c", launcher], "tuned": ["true"]}}, 2, os.environ)
    print("all ran")
except KeyboardInterrupt:
    print("stopped")
except RunError as error:
    print(error)
"""
STOPPED, DISTURBED = "stopped", "{} came during the plain run or before it, and such "


@pytest.mark.parametrize(
    ("name", "passed", "said"),
    [
        ("TERM", "TERM", STOPPED),
        ("HUP", "TERM", STOPPED),
        ("USR1", "USR1", DISTURBED.format("SIGUSR1")),
        ("XCPU", "XCPU", DISTURBED.format("SIGXCPU")),
    ],
)
def test_a_signal_reaches_the_launcher_and_no_run_follows(
    name: str, passed: str, said: str
) -> None:
    handler = "signal.default_int_handler" if said == STOPPED else "signal.SIG_DFL"
    script = INTERLEAVED.format(name=name, passed=passed, handler=handler)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "started\n"

        started.send_signal(signal.Signals[f"SIG{name}"])

        assert started.stdout.readline() == "told\n", "the launcher can end its ranks"
        [line] = started.stdout.readlines()
        assert line.startswith(said)


@pytest.fixture
def interrupts_are_raised() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts_are_raised")
def test_an_interrupt_ends_all_even_if_its_run_succeeds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    interrupts = "import os, signal; os.kill(os.getppid(), signal.SIGINT)"
    commands = {
        "plain": [sys.executable, "-c", interrupts],
        "tuned": [sys.executable, "-c", f"open({str(log)!r}, 'a')"],
    }

    with pytest.raises(KeyboardInterrupt):
        run_interleaved(commands, 2, {})

    assert not log.exists()


@pytest.mark.usefixtures("interrupts_are_raised")
def test_a_second_interrupt_reaches_a_run_that_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    interrupts = f"""
import os, signal, time
for _ in range(25):
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(0.2)
open({str(log)!r}, "a")
"""

    with pytest.raises(KeyboardInterrupt):
        run_interleaved({"plain": [sys.executable, "-c", interrupts]}, 2, {})

    assert not log.exists()


def test_the_file_comes_back_and_fits_its_schema(tmp_path: Path) -> None:
    runs = Interleaved("mpirun -n 4 ./app", "tuning.json", [2.0, 2.1], [1.0, 1.1])
    path = tmp_path / "interleaved.json"

    write(runs, path)

    assert load(path) == runs
    jsonschema.validate(json.loads(path.read_text()), json.loads(SCHEMA.read_text()))


def test_the_ratio_is_of_medians_and_few_rounds_have_no_interval() -> None:
    runs = Interleaved("app", "t.json", [4.0, 2.0, 3.0], [1.5, 1.5, 9.0])

    assert runs.ratio() == pytest.approx(0.5)
    assert runs.interval() is None
    assert "too few" in runs.text()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"novelty": 1}, "novelty"),
        ({"plain_s": []}, "plain_s"),
        ({"version": 2}, "version 2 is newer than version 1, which .*; upgrade"),
    ],
)
def test_what_it_does_not_know_is_refused_by_name(
    change: dict[str, object], named: str, tmp_path: Path
) -> None:
    path = tmp_path / "interleaved.json"
    write(Interleaved("app", "t.json", [1.0], [1.0]), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    with pytest.raises(RequestError, match=named):
        load(path)
