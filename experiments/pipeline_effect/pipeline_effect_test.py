# SPDX-License-Identifier: BSD-3-Clause
"""The effect is a ratio at one size that both runs measured."""

from pathlib import Path

import pytest

from experiments.pipeline_effect import experiment as pipeline_effect
from lanewise.errors import RunError
from lanewise.results import specimen
from lanewise.results.read import Samples, load


def size_samples(path: Path, medians_s: dict[int, float]) -> Samples:
    points = [
        specimen.point_record("scatter", size, [median_s] * 10)
        for size, median_s in medians_s.items()
    ]
    return load(specimen.write(path, [specimen.context_record(), *points]))


def test_the_pipeline_effect_is_a_ratio_at_one_size(tmp_path: Path) -> None:
    isolated = size_samples(tmp_path / "a", {8: 3e-6, 16: 9e-6})
    pipelined = size_samples(tmp_path / "b", {16: 9e-6, 8: 1e-6})

    assert pipeline_effect.ratio_at(isolated, pipelined, 8) == pytest.approx(3.0)


def test_a_size_that_was_not_measured_gives_no_ratio(tmp_path: Path) -> None:
    samples = size_samples(tmp_path / "a", {16: 1e-6})

    with pytest.raises(RunError, match="8 B"):
        pipeline_effect.ratio_at(samples, samples, 8)
