# SPDX-License-Identifier: BSD-3-Clause
"""How far the methods agree is the median over sizes."""

from pathlib import Path

import pytest

from experiments.timing_methods import experiment as timing_methods
from lanewise.results import specimen
from lanewise.results.read import Samples, load


def size_samples(path: Path, medians_s: dict[int, float]) -> Samples:
    points = [
        specimen.point_record("scatter", size, [median_s] * 10)
        for size, median_s in medians_s.items()
    ]
    return load(specimen.write(path, [specimen.context_record(), *points]))


def test_methods_agree_by_the_median_over_sizes(tmp_path: Path) -> None:
    runs = {
        (operation, method): size_samples(
            tmp_path / f"{operation}-{method}", dict.fromkeys((1, 2, 3), factor * 1e-06)
        )
        for operation in timing_methods.OPERATIONS
        for method, factor in (("max", 1.0), ("root", 1.02), ("global", 1.02))
    }

    assert timing_methods.deviation_percent(runs) == pytest.approx(2.0)
