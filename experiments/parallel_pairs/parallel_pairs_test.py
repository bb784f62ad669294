# SPDX-License-Identifier: BSD-3-Clause
"""Two orders of pairs are compared pair by pair."""

from pathlib import Path

import pytest

from experiments.parallel_pairs import experiment as parallel_pairs
from lanewise.errors import RunError
from lanewise.results import specimen
from lanewise.results.read import Samples, load


def pair_samples(path: Path, medians_s: dict[tuple[int, int], float]) -> Samples:
    points = [
        specimen.point_record("pairs", 4096, [median_s] * 10, root=first, peer=second)
        for (first, second), median_s in medians_s.items()
    ]
    return load(specimen.write(path, [specimen.context_record(), *points]))


def test_the_deviation_of_pairs_is_that_of_the_worst(tmp_path: Path) -> None:
    before = pair_samples(tmp_path / "a", {(0, 1): 1e-4, (0, 2): 2e-4})
    after = pair_samples(tmp_path / "b", {(0, 2): 2.1e-4, (0, 1): 1.01e-4})

    assert parallel_pairs.deviation_percent(before, after) == pytest.approx(5.0)


def test_orders_that_measured_other_pairs_are_not_compared(tmp_path: Path) -> None:
    before = pair_samples(tmp_path / "a", {(0, 1): 1e-4})
    after = pair_samples(tmp_path / "b", {(0, 2): 1e-4})

    with pytest.raises(RunError, match="same pairs"):
        parallel_pairs.deviation_percent(before, after)
