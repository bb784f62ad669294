# SPDX-License-Identifier: BSD-3-Clause
"""On a simulated cluster the true times are known: rate and latency are what was asked for."""

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

from lanewise.results.read import load

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]


def medians_s(lanewise: Lanewise, path: Path, *options: str) -> dict[int, float]:
    done = lanewise(
        "measure", "pingpong", "-n", 2, "--launcher", "smpi", "--repetitions", "10",
        "--sizes", "1,16M", "-o", path, *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {point.message_bytes: point.median_s for point in load(path).points}


def test_the_same_simulation_gives_the_same_times(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    assert medians_s(lanewise, tmp_path / "a.jsonl") == medians_s(lanewise, tmp_path / "b.jsonl")


def test_twice_the_latency_takes_a_small_message_twice_as_long(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    once = medians_s(lanewise, tmp_path / "a.jsonl", "--smpi-latency", "1e-3")
    twice = medians_s(lanewise, tmp_path / "b.jsonl", "--smpi-latency", "2e-3")

    assert math.isclose(twice[1] / once[1], 2, rel_tol=0.01)


def test_half_the_rate_takes_a_large_message_twice_as_long(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    fast = medians_s(lanewise, tmp_path / "a.jsonl", "--smpi-rate", "125e6")
    slow = medians_s(lanewise, tmp_path / "b.jsonl", "--smpi-rate", "62.5e6")

    assert math.isclose(slow[2**24] / fast[2**24], 2, rel_tol=0.05)


def test_further_arguments_of_smpirun_are_recorded_as_they_were_given(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    further = "--cfg=smpi/async-small-thresh:0 --log=smpi.thres:critical"

    medians_s(lanewise, tmp_path / "s.jsonl", "--launcher-args", further)

    assert load(tmp_path / "s.jsonl").context.launcher_args == further


def test_more_hosts_than_cores_wait_on_the_network_and_not_for_a_core(
    lanewise: Lanewise, smpi: str, tmp_path: Path
) -> None:
    done = lanewise(
        "measure", "barrier", "-n", 16, "--launcher", "smpi", "--smpi-latency", "1e-3",
        "--repetitions", "10", "-o", tmp_path / "s.jsonl",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    point = load(tmp_path / "s.jsonl").points[0]
    assert point.median_s > 1e-3
    assert math.isclose(min(point.samples_s), max(point.samples_s), rel_tol=1e-6)
