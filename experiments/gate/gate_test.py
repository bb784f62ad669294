# SPDX-License-Identifier: BSD-3-Clause
"""The experiment counts what the gate does: alarms, and launches that it needed."""

import itertools
import random

import numpy as np
import pytest

from experiments.gate import experiment
from lanewise.results.gate import PointName
from lanewise.results.gate_looks import order

POINTS = [
    PointName(operation, size)
    for operation in experiment.OPERATIONS
    for size in experiment.SIZES_BYTES
]


def rounds(slowdown: float, seed: int = 3) -> list[experiment.Turn]:
    source = np.random.default_rng(seed)
    found: list[experiment.Turn] = []
    for block, slowed in itertools.islice(order(seed), 4 * experiment.BLOCKS):
        times = {name: 1e-6 * float(source.lognormal(0, 0.02)) for name in POINTS}
        for name in POINTS if slowed else []:
            times[name] *= 1 + slowdown * (name.operation == experiment.SLOWED)
        found.append((block, slowed, times))
    return found


def test_a_slowdown_is_found_after_few_launches_from_any_block() -> None:
    outcomes = [experiment.one_gate(rounds(0.12), first) for first in (0, 30, 59)]

    assert outcomes == [(True, 10)] * 3


def test_without_a_slowdown_nothing_is_found() -> None:
    alarm, _ = experiment.one_gate(rounds(0.0), 0)

    assert not alarm


def test_a_gate_begins_at_each_block_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def one_gate(_turns: object, first: int) -> tuple[bool, int]:
        begun.append(first)
        return first > 0, 10

    monkeypatch.setattr(experiment, "one_gate", one_gate)

    found, launches = experiment.found_share([])

    assert begun == list(range(experiment.BLOCKS))
    assert found == pytest.approx(100 * 59 / 60)
    assert launches == 10


def test_identical_launches_that_are_dealt_at_random_raise_no_alarm() -> None:
    launches = [times for _, _, times in rounds(0.0)]

    assert not experiment.false_alarm(launches, random.Random(1))


@pytest.mark.parametrize(("fresh", "met"), [(0, True), (3, True), (4, False), (9, False)])
def test_alarms_over_fresh_launches_are_not_diluted_by_recorded_ones(
    *, fresh: int, met: bool
) -> None:
    figures = experiment.figures_of_alarms(0, fresh)
    targets = experiment.EXPERIMENT.targets

    assert targets["false_alarm_percent"].met_by(figures["false_alarm_percent"])
    judged = all(target.met_by(figures[key]) for key, target in targets.items() if key in figures)
    assert judged is met


def test_as_many_alarms_are_allowed_as_a_rate_of_one_per_cent_gives() -> None:
    assert [experiment.allowed(count) for count in (1, 10, 100, 1000)] == [0, 1, 3, 15]


def test_the_record_has_enough_launches_and_all_points_in_each() -> None:
    launches = experiment.recorded_launches()

    assert len(launches) >= 200
    assert all(set(times) == set(POINTS) for times in launches)


def test_a_mean_of_times_is_geometric() -> None:
    assert experiment.mean([1e-6, 4e-6]) == pytest.approx(2e-6)
