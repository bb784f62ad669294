# SPDX-License-Identifier: BSD-3-Clause
"""What polling says over rounds: a round is one observation, however many repetitions it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.results import specimen
from lanewise.results.intervals import launch_interval, median_interval
from lanewise.results.read import Samples, load
from lanewise.suite import processor

TRANSPORT = "openmpi-shm"


def polled_run(path: Path, *availability: float) -> Samples:
    record = {
        "record": "polling", "message_bytes": 100_000, "interval_s": 1e-4, "depth": 4,
        "availability": list(availability), "rate_bytes_per_s": [1e9] * len(availability),
    }  # fmt: skip
    context = {"transport": TRANSPORT, "ranks": 2}
    records = specimen.records(["pingpong"], (8,), 1, 1.0, context)
    return load(specimen.write(path, [*records[:-1], record, records[-1]]))


def availability_of(*runs: Samples) -> tuple[float, float | None, float | None]:
    figure = processor.polling_figures(runs, [TRANSPORT])[0]
    (curve,) = figure["curves"]
    return curve["y"][0], curve["low"][0], curve["high"][0]


def test_the_interval_of_polling_is_over_rounds_and_not_over_repetitions(tmp_path: Path) -> None:
    runs = [
        polled_run(tmp_path / f"{level}.jsonl", *[level] * repetitions)
        for level, repetitions in ((0.2, 30), (0.4, 10), (0.8, 10))
    ]

    assert availability_of(*runs) == pytest.approx(launch_interval([0.2, 0.4, 0.8]))


def test_the_interval_of_a_single_round_is_that_of_its_median(tmp_path: Path) -> None:
    values = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97]

    found = availability_of(polled_run(tmp_path / "one.jsonl", *values))

    assert found == pytest.approx((0.8, *median_interval(values)))
