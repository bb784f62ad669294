# SPDX-License-Identifier: BSD-3-Clause
"""Scaling: what is run, what time it takes, what follows from the times."""

import os
from collections import deque
from pathlib import Path

import pytest

from lanewise.errors import RequestError, RunError
from lanewise.launch.run import Outcome
from lanewise.results.intervals import ratio_interval
from lanewise.suite.scale import (
    Curve,
    Plan,
    Told,
    command_for,
    efficiencies,
    mpi_of,
    narrow,
    pattern_for,
    time_in,
)


def time_of(pattern: str, *lines: str) -> float:
    """Return the time of a program that prints `lines`, which took nine seconds."""
    told = Told(pattern)
    for line in lines:
        told.take(line)
    return time_in(Outcome(output=deque(lines)), told, 9.0)


def test_the_number_of_ranks_stands_where_its_name_stood() -> None:
    plan = Plan(("lmp", "-var", "ranks", "{ranks}"), (1, 2))

    assert command_for(plan, 2) == ["lmp", "-var", "ranks", "2"]


def test_the_time_is_the_last_that_the_program_told() -> None:
    assert time_of(r"Time: ([0-9.]+)", "Time: 3.5", "Time: 1.25", "done") == 1.25


def test_without_a_pattern_the_time_is_the_wall() -> None:
    assert time_of("", "Time: 3.5") == 9.0


def test_a_pattern_that_never_matches_is_told_with_the_last_lines() -> None:
    with pytest.raises(RunError, match=r"no line matches .* Total wall time"):
        time_of(r"Elapsed ([0-9.]+)", "Total wall time: 0:00:02")


def test_what_matches_and_is_no_number_is_refused() -> None:
    with pytest.raises(RunError, match="not a time in seconds"):
        time_of(r"Time: (\w+)", "Time: fast")


def test_lammps_needs_no_pattern() -> None:
    assert time_of(pattern_for(["/usr/bin/lmp"], ""), "Loop time of 1.5 on 2 procs") == 1.5


@pytest.mark.parametrize(
    ("libraries", "family"),
    [
        (["libmpi_mpifh.so.40", "libmpi.so.40"], "openmpi"),
        (["libmpich.so.12"], "mpich"),
        (["libmpi.so.12"], "mpich"),
        (["libmpi.so.40", "libmpich.so.12"], ""),
        (["libc.so.6"], ""),
    ],
)
def test_the_mpi_of_a_program_is_told_by_its_libraries(
    libraries: list[str], family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"echo '\t{name} => /lib/{name} (0x1)'\n" for name in libraries)
    for name, text in (("ldd", lines), ("app", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert mpi_of("app") == family


@pytest.mark.parametrize("pattern", ["Time: [0-9", "Time: [0-9]+"])
def test_a_pattern_that_cannot_give_a_number_is_refused(pattern: str) -> None:
    with pytest.raises(RequestError, match="--pattern"):
        pattern_for(["app"], pattern)


def test_a_narrow_interval_is_enough_from_the_least_number_of_repetitions_on() -> None:
    curve = Curve("shm", {1: [1.0] * 8})

    assert narrow(Plan(("app",), (1,), repetitions_min=8), curve, 1)
    assert not narrow(Plan(("app",), (1,), repetitions_min=9, repetitions_max=9), curve, 1)


def test_an_interval_is_looked_at_only_when_the_runs_have_doubled() -> None:
    plan = Plan(("app",), (1,), repetitions_min=6, repetitions_max=30)

    looked = [count for count in range(1, 31) if narrow(plan, Curve("shm", {1: [1.0] * count}), 1)]

    assert looked == [6, 12, 24]


def test_scaled_work_is_efficient_where_the_time_stays() -> None:
    times = {1: [1.0] * 6, 2: [1.25] * 6}

    assert [one.value for one in efficiencies(times, "scaled")] == [1.0, 0.8]


def test_fixed_work_is_efficient_where_the_time_halves() -> None:
    times = {1: [1.0] * 6, 2: [0.5] * 6, 4: [0.5] * 6}

    assert [one.value for one in efficiencies(times, "fixed")] == [1.0, 1.0, 0.5]


def test_the_interval_of_an_efficiency_is_that_of_the_ratio_of_medians() -> None:
    times = {1: [1.0, 1.1, 0.9, 1.0, 1.05, 0.95], 4: [0.5, 0.55, 0.45, 0.5, 0.52, 0.48]}

    one, four = efficiencies(times, "fixed")

    low, high = ratio_interval(times[4], times[1])
    assert (one.low, one.high) == (1.0, 1.0)
    assert (four.low, four.high) == pytest.approx((low / 4, high / 4))
    assert four.low < four.value < four.high
