# SPDX-License-Identifier: BSD-3-Clause
"""Processes are watched with their children, and the largest peak is what is judged."""

import sys
from pathlib import Path

import pytest

from experiments.wavefront.memory import EXPERIMENT, Taken, figures_of, peaks_by_round
from experiments.wavefront.watched import watch
from lanewise.errors import RunError

MEBIBYTE = 1 << 20
HOLD = "held = bytearray({} << 20); import time; time.sleep(0.2)"


def test_a_child_is_watched_apart_from_its_parent() -> None:
    child = HOLD.format(200)
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    found = watch([sys.executable, "-c", parent])

    peaks = sorted(peak for _, peak in found.peaks)
    assert len(peaks) == 2
    assert peaks[0] < 100 * MEBIBYTE
    assert 200 * MEBIBYTE < peaks[1] < 300 * MEBIBYTE


def test_the_memory_of_the_program_that_watches_is_not_counted() -> None:
    held = bytearray(300 * MEBIBYTE)

    found = watch([sys.executable, "-c", HOLD.format(1)])

    assert len(held) > max(peak for _, peak in found.peaks)


def test_a_program_that_fails_ends_the_run_with_its_last_line() -> None:
    with pytest.raises(RunError, match="status 3: no such store"):
        watch(
            [sys.executable, "-c", "import sys; print('no such store', file=sys.stderr); exit(3)"]
        )


def test_the_largest_peak_of_all_ways_and_rounds_is_judged() -> None:
    taken = {"c": [Taken(50), Taken(101)], "python": [Taken(90, 7), Taken(80, 9)]}

    figures = figures_of(taken, budget_bytes=100)

    assert figures["peak_over_budget"] == 1.01
    assert not EXPERIMENT.targets["peak_over_budget"].met_by(figures["peak_over_budget"])
    assert figures["peak_over_budget_python"] == 0.9
    assert figures["interpreter_bytes_python"] == 8
    assert "interpreter_bytes_c" not in figures
    assert peaks_by_round(taken, 100) == [0.9, 1.01]


def test_an_interrupt_leaves_nothing_of_a_program_that_is_watched(tmp_path: Path) -> None:
    said = tmp_path / "number"
    words = 'echo $$ > "$0"; kill -INT $PPID; exec sleep 100'

    with pytest.raises(KeyboardInterrupt):
        watch(["sh", "-c", words, str(said)])

    assert not Path("/proc", said.read_text().strip()).exists()
