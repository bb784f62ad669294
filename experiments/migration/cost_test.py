# SPDX-License-Identifier: BSD-3-Clause
"""What protection costs is judged by the upper ends of intervals that are narrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.experiment import Outcome
from experiments.migration.cost import (
    EXPERIMENT,
    PAIRS,
    PAIRS_MAX,
    figures_of,
    interval_of_a_look,
    is_narrow,
)
from experiments.run import Finished


def losses_of(pairs: int, spread_percent: float) -> dict[str, list[float]]:
    """Make losses about nothing and about one per cent."""
    source = np.random.default_rng(3)
    return {
        name: list(source.normal(centre, spread_percent, pairs))
        for name, centre in (("latency", 0.0), ("rate", 1.0))
    }


def test_pairs_that_scatter_by_four_per_cent_have_to_be_many() -> None:
    assert not is_narrow(losses_of(PAIRS, 4.0))
    assert is_narrow(losses_of(PAIRS_MAX, 4.0))
    assert is_narrow(losses_of(PAIRS, 0.25))


def test_the_upper_ends_of_the_intervals_are_judged() -> None:
    ten = [float(loss) for loss in range(1, 11)]

    figures = figures_of({"latency": [loss - 5 for loss in ten], "rate": ten})

    assert figures["rate_overhead_percent"] == 5.5
    assert figures["overhead_without_faults_percent"] == 5.5
    # Of ten values, the first and the last are the ends of the interval that a look has.
    assert (figures["rate_overhead_percent_low"], figures["rate_overhead_percent_high"]) == (1, 10)
    assert figures["overhead_upper_percent"] == 10
    assert figures["half_width_percent"] == pytest.approx(4.5)
    assert set(figures) >= {figure.name for figure in EXPERIMENT.figures if "{" not in figure.name}


@pytest.mark.parametrize("pairs", [PAIRS, PAIRS_MAX])
def test_a_run_of_any_number_of_pairs_is_as_declared(pairs: int) -> None:
    outcome = Outcome(figures_of(losses_of(pairs, 1.0)), [], {}, [Path("strips.png")])

    assert Finished(EXPERIMENT, outcome).faults == []


def test_an_interval_that_was_looked_at_until_it_was_narrow_covers_the_truth() -> None:
    source = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        losses: list[float] = []
        while len(losses) < PAIRS_MAX and not (losses and is_narrow({"rate": losses})):
            losses += list(source.normal(0.0, 3.0, PAIRS))
        low, high = interval_of_a_look(losses)
        covered += low <= 0.0 <= high

    assert covered >= 0.95 * 400
