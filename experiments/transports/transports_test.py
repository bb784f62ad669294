# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of the experiment `transports`, from known samples."""

from pathlib import Path

import pytest

from experiments.transports.transports import differences, intervals_of, values_of
from lanewise.results import specimen
from lanewise.results.read import Samples, load
from lanewise.suite.pool import pool


def measured(folder: Path, transport: str, seconds: float, share: float = 0.25) -> Samples:
    """Return a run in which every message takes `seconds`, give or take nothing."""
    polling = [
        {
            "record": "polling", "message_bytes": 100_000, "interval_s": interval, "depth": 4,
            "availability": [left] * 5, "rate_bytes_per_s": [rate] * 5,
        }
        for interval, left, rate in ((1e-6, share, 4e8), (1e-4, 0.75, 3e8))
    ]  # fmt: skip
    points = [
        specimen.point_record(
            benchmark, size, [seconds * factor for factor in (0.99, 1.0, 1.01)] * 8
        )
        for benchmark, size in (("pingpong", 8), ("pingpong", 1 << 20), ("streaming", 8))
    ]
    records = [specimen.context_record(transport=transport), *points, *polling]
    return load(specimen.write(folder / f"{transport}.jsonl", records))


def test_the_numbers_carry_the_units_of_their_keys(tmp_path: Path) -> None:
    runs = [measured(tmp_path, "shm", 1e-3)]

    values = values_of(pool(runs), runs, "shm")

    assert values["latency_8B_us"] == pytest.approx(1000)
    assert values["bandwidth_1MiB_MBps"] == pytest.approx(1048.576)
    assert values["streaming_8B_msgps"] == pytest.approx(1000)


def test_each_number_lies_in_its_interval(tmp_path: Path) -> None:
    runs = [measured(tmp_path, "shm", 1e-3)]
    points = pool(runs)

    ends = intervals_of(points, runs, "shm")

    for key, value in values_of(points, runs, "shm").items():
        if key != "cpu_availability_100KB":
            assert ends[f"{key}_low"] <= value <= ends[f"{key}_high"]
    assert "cpu_availability_100KB_low" not in ends  # one round has no interval


def test_repetitions_of_one_launch_do_not_narrow_an_interval(tmp_path: Path) -> None:
    rounds = [measured(tmp_path, "shm", 1e-3, share=share) for share in (0.2, 0.3)]

    ends = intervals_of(pool(rounds), rounds, "shm")

    low, high = (ends[f"cpu_availability_100KB_{end}"] for end in ("low", "high"))
    assert low < 0.2
    assert high > 0.3


def test_availability_is_read_where_most_is_carried(tmp_path: Path) -> None:
    runs = [measured(tmp_path, "shm", 1e-3)]

    assert values_of(pool(runs), runs, "shm")["cpu_availability_100KB"] == pytest.approx(0.25)


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    runs = [measured(tmp_path, "shm", 1e-3)]

    assert values_of(pool(runs), runs, "tcp") == {}


def test_a_difference_comes_with_its_interval(tmp_path: Path) -> None:
    runs = [measured(tmp_path, "shm", 1e-3), measured(tmp_path, "tcp", 3e-3)]

    found = differences(pool(runs), ["shm", "tcp"])

    assert found["shm_latency_8B_over_best"] == 1.0
    assert found["tcp_latency_8B_over_best"] == pytest.approx(3.0)
    assert found["tcp_latency_8B_over_best_low"] < 3.0 < found["tcp_latency_8B_over_best_high"]
