# SPDX-License-Identifier: BSD-3-Clause
"""The gate: alarms are false as seldom as it says, and a slowdown that it claims to see it sees."""

import itertools
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lanewise.errors import RequestError
from lanewise.results import gate, gate_text
from lanewise.results.gate import Launches, PointName, Rule, judge

OPERATIONS = ("pingpong", "bcast", "allreduce")
SIZES_BYTES = (8, 1024, 65536)
POINTS = tuple(PointName(name, size) for name in OPERATIONS for size in SIZES_BYTES)
# A level that many false alarms are expected at, so that too many show in few comparisons.
ALARMS = 0.1
COMPARISONS = 400

Source = np.random.Generator
Logs = Callable[[Source, int], gate.Matrix]


def normal(source: Source, count: int) -> gate.Matrix:
    return source.normal(0, 0.03, (count, len(POINTS)))


def heavy_tailed(source: Source, count: int) -> gate.Matrix:
    return 0.03 * source.standard_t(1.5, (count, len(POINTS)))


def two_levels(source: Source, count: int) -> gate.Matrix:
    levels = 1.2 * (source.random((count, len(POINTS))) < 0.4)
    return levels + normal(source, count)


def alike_in_a_launch(source: Source, count: int) -> gate.Matrix:
    return source.normal(0, 0.2, (count, 1)) + 0.1 * normal(source, count)


def of_few_values(source: Source, count: int) -> gate.Matrix:
    return np.round(normal(source, count), 2)


def drifting(source: Source, count: int) -> gate.Matrix:
    return np.linspace(0, 1, count)[:, None] + normal(source, count)


def of_a_reference(logs: gate.Matrix) -> gate.Matrix:
    """Return a reference that explains most of what launches of `logs` differ in, not all."""
    return 0.7 * logs[:, :3] + 0.1 * logs[:, 3:6]


LAWS = (normal, heavy_tailed, two_levels, alike_in_a_launch, of_few_values)


def launches_of(logs: gate.Matrix, source: Source, block: int = 0) -> Launches:
    """Deal launches to both sides, in blocks of random order where `block` is their size."""
    count = len(logs)
    blocks = np.arange(count) // (block or count)
    candidate = np.zeros(count, dtype=bool)
    for number in np.unique(blocks):
        rows = np.flatnonzero(blocks == number)
        candidate[source.permutation(rows)[: len(rows) // 2]] = True
    return Launches(POINTS, 1e-6 * np.exp(logs), candidate, blocks)


def slowed(launches: Launches, factor: float, points: slice = slice(None)) -> Launches:
    times_s = launches.times_s.copy()
    times_s[launches.candidate, points] *= factor
    return Launches(launches.points, times_s, launches.candidate, launches.blocks)


@pytest.fixture
def few_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at fewer exchanges than usual and at no least visible slowdown, to be quick."""
    monkeypatch.setattr(gate, "EXCHANGES", 999)
    monkeypatch.setattr(gate, "least_visible", lambda *_: 0.0)
    gate.exchanges.cache_clear()


def false_alarms(law: Logs, block: int, seed: int) -> int:
    """Return how many comparisons of identical launches find any point slower, by anything."""
    source = np.random.default_rng(seed)
    rule = Rule(gate=0.0, false_alarms=ALARMS)
    found = (judge(launches_of(law(source, 16), source, block), rule) for _ in range(COMPARISONS))
    return sum(bool(verdict.alarms) for verdict in found)


@pytest.mark.usefixtures("few_exchanges")
@pytest.mark.parametrize("block", [0, 4], ids=["in one block", "in blocks of four"])
@pytest.mark.parametrize("law", LAWS)
def test_alarms_are_false_no_more_often_than_stated(law: Logs, block: int) -> None:
    alarms = false_alarms(law, block, seed=7)

    assert alarms <= stats.binom.ppf(0.9995, COMPARISONS, ALARMS)


@pytest.mark.usefixtures("few_exchanges")
def test_alarms_are_not_far_rarer_than_stated_either() -> None:
    alarms = false_alarms(normal, 0, seed=7)

    assert alarms >= stats.binom.ppf(0.0005, COMPARISONS, ALARMS)


@pytest.mark.usefixtures("few_exchanges")
def test_launches_in_turns_raise_no_false_alarms_on_a_machine_that_drifts() -> None:
    alarms = false_alarms(drifting, 4, seed=8)

    assert alarms <= stats.binom.ppf(0.9995, COMPARISONS, ALARMS)


@pytest.mark.parametrize("law", [normal, two_levels])
def test_the_least_visible_slowdown_is_found_and_a_third_of_it_mostly_not(law: Logs) -> None:
    source = np.random.default_rng(3)
    rule = Rule(gate=0.0)
    found = {1.0: 0, 1 / 3: 0}
    for _ in range(12):
        even = launches_of(law(source, 40), source, 4)
        least = judge(even, rule).least_visible["pingpong"]
        again = launches_of(law(source, 40), source, 4)
        for share in found:
            slower = slowed(again, 1 + share * least, slice(0, 3))
            found[share] += bool(judge(slower, rule, with_least_visible=False).alarms)

    assert found[1.0] == 12
    assert found[1 / 3] < 12


def test_an_operation_that_is_slower_at_all_sizes_alarms_alone() -> None:
    source = np.random.default_rng(5)
    even = launches_of(normal(source, 40), source, 4)

    verdict = judge(slowed(even, 1.15, slice(3, 6)), Rule(gate=0.05))

    assert {one.operation for one in verdict.alarms} == {"bcast"}
    over_sizes = next(one for one in verdict.alarms if one.message_bytes is None)
    assert over_sizes.slowdown == pytest.approx(0.15, abs=0.04)


def test_one_point_with_two_levels_does_not_hide_its_operation() -> None:
    source = np.random.default_rng(6)
    logs = normal(source, 40)
    logs[:, 0] += 1.2 * (source.random(40) < 0.5)
    even = launches_of(logs, source, 4)

    verdict = judge(slowed(even, 1.12, slice(0, 3)), Rule(gate=0.05))

    assert "pingpong" in {one.operation for one in verdict.alarms}


def test_a_slowdown_below_the_gate_passes_though_it_is_certain() -> None:
    source = np.random.default_rng(9)
    even = launches_of(0.1 * normal(source, 40), source, 4)

    verdict = judge(slowed(even, 1.03), Rule(gate=0.05))

    assert min(one.p_value for one in verdict.findings) < 0.001
    assert not verdict.alarms


def test_a_faster_candidate_passes() -> None:
    source = np.random.default_rng(10)
    even = launches_of(normal(source, 40), source, 4)

    assert not judge(slowed(even, 0.5), Rule(gate=0.05)).alarms


TWO_STATES = 0.8


def in_two_states(source: Source, count: int) -> tuple[gate.Matrix, gate.Matrix]:
    """Return times, and a reference that is slow in the launches in which all else is too."""
    state = TWO_STATES * (source.random((count, 1)) < 0.35)
    reference = state + source.normal(0, 0.03, (count, 1))
    return state + normal(source, count), reference


def referred(launches: Launches, reference: gate.Matrix) -> Launches:
    return replace(launches, reference_s=1e-7 * np.exp(reference))


@pytest.mark.usefixtures("few_exchanges")
@pytest.mark.parametrize("law", [*LAWS, in_two_states])
def test_alarms_are_false_no_more_often_with_a_reference(law: Any) -> None:
    source = np.random.default_rng(12)
    rule = Rule(gate=0.0, false_alarms=ALARMS)
    alarms = 0
    for _ in range(COMPARISONS):
        drawn = law(source, 16)
        logs, reference = drawn if law is in_two_states else (drawn, of_a_reference(drawn))
        launches = referred(launches_of(logs, source, 4), reference)
        alarms += bool(judge(launches, rule).alarms)

    assert alarms <= stats.binom.ppf(0.9995, COMPARISONS, ALARMS)


def test_a_slowdown_between_launches_of_two_states_is_found_by_the_reference() -> None:
    found = {"none": 0, "used": 0}
    for seed in range(10):
        source = np.random.default_rng(seed)
        logs, reference = in_two_states(source, 40)
        slower = slowed(launches_of(logs, source, 4), 1.1, slice(0, 3))
        for launches in (slower, referred(slower, reference)):
            verdict = judge(launches, Rule(gate=0.05), with_least_visible=False)
            found[verdict.reference] += "pingpong" in {one.operation for one in verdict.alarms}

    assert found["used"] == 10
    assert found["none"] <= 5


def test_the_least_visible_slowdown_is_smaller_with_the_reference() -> None:
    source = np.random.default_rng(13)
    logs, reference = in_two_states(source, 40)
    even = launches_of(logs, source, 4)

    least = [
        judge(one, Rule(0.05)).least_visible_anywhere for one in (even, referred(even, reference))
    ]

    assert least[1] < least[0] / 2


def test_a_reference_in_which_the_sides_differ_is_not_used() -> None:
    source = np.random.default_rng(14)
    even = launches_of(normal(source, 40), source, 4)
    reference = normal(source, 40) - 0.5 * even.candidate[:, None]

    verdict = judge(referred(even, reference), Rule(gate=0.05))

    assert verdict.reference == "differs"
    assert not verdict.alarms
    assert max(abs(one.slowdown) for one in verdict.findings) < 0.05


@pytest.mark.parametrize(("count", "reference"), [(10, "none"), (14, "used")])
def test_a_reference_is_not_used_of_so_few_launches_that_sides_could_not_differ_in_it(
    count: int, reference: str
) -> None:
    source = np.random.default_rng(16)
    logs, drawn = in_two_states(source, count)
    apart = slowed(launches_of(logs, source), 3.0)

    verdict = judge(referred(apart, drawn), Rule(gate=0.05))

    assert verdict.reference == reference
    assert verdict.alarms


def test_points_and_reference_share_the_false_alarms() -> None:
    source = np.random.default_rng(15)
    even = launches_of(normal(source, 8), source)

    plain, shared = (
        gate.level_of(one, Rule(gate=0.05)) for one in (even, referred(even, normal(source, 8)))
    )

    assert plain == pytest.approx(0.01)
    assert shared + gate.REFERENCE_SHARE * 0.01 == pytest.approx(0.01)


@pytest.mark.parametrize(("level", "needed"), [(0.05, 3), (0.01, 5), (0.01 / 3, 6), (0.001, 7)])
def test_the_launches_needed_are_the_least_that_can_reach_the_level(
    level: float, needed: int
) -> None:
    assert gate.launches_needed(level) == needed


def test_the_launches_needed_do_raise_an_alarm_and_one_fewer_are_refused() -> None:
    source = np.random.default_rng(11)
    enough = slowed(launches_of(normal(source, 10), source), 3.0)
    too_few = slowed(launches_of(normal(source, 8), source), 3.0)

    assert judge(enough, Rule(gate=0.05)).alarms
    with pytest.raises(RequestError, match="measure 5 or more of each side"):
        judge(too_few, Rule(gate=0.05))


def test_too_few_interleaved_launches_are_refused_with_the_number_that_is_needed() -> None:
    source = np.random.default_rng(3)
    rule = Rule(gate=0.05, false_alarms=1e-5)

    with pytest.raises(RequestError, match="measure 14 or more of each side"):
        judge(launches_of(normal(source, 24), source, 4), rule)

    judge(launches_of(normal(source, 28), source, 4), rule, with_least_visible=False)


def test_any_number_of_launches_is_enough() -> None:
    gate.require_enough_launches(5, 5, level=0.01)
    gate.require_enough_launches(600, 600, level=0.01)


def test_a_look_has_its_share_of_the_false_alarms() -> None:
    assert Rule(gate=0.05, false_alarms=0.04, looks=3, share=0.25).level == pytest.approx(0.01)


@pytest.mark.parametrize("rate", [1e-5, 1e-3])
def test_an_alarm_can_be_raised_at_a_small_rate_of_false_alarms(rate: float) -> None:
    source = np.random.default_rng(17)
    apart = slowed(launches_of(normal(source, 32), source, 4), 3.0)

    verdict = judge(apart, Rule(gate=0.05, false_alarms=rate), with_least_visible=False)

    assert verdict.alarms


@pytest.mark.parametrize(("rate", "reference"), [(2.5e-4, "differs"), (1e-5, "none")])
def test_a_reference_is_used_at_a_small_rate_only_where_the_sides_could_differ_in_it(
    rate: float, reference: str
) -> None:
    source = np.random.default_rng(18)
    even = launches_of(normal(source, 40), source, 4)
    apart = normal(source, 40) - 2.0 * even.candidate[:, None]

    verdict = judge(
        referred(even, apart), Rule(gate=0.05, false_alarms=rate), with_least_visible=False
    )

    assert verdict.reference == reference


def test_a_rate_that_no_number_of_exchanges_tells_is_refused_with_one_that_will_do() -> None:
    source = np.random.default_rng(19)
    even = launches_of(normal(source, 64), source, 4)

    with pytest.raises(RequestError, match="use --false-alarms") as refused:
        judge(even, Rule(gate=0.05, false_alarms=1e-7))

    enough = float(str(refused.value).split("--false-alarms ")[1].split("%")[0]) / 100
    gate.require_rate(Rule(gate=0.05, false_alarms=enough))


def test_exchanges_at_random_need_the_memory_that_they_take_and_little_more() -> None:
    tracemalloc.start()
    found = gate.random_exchanges([(1000, 500)], 20_000, np.random.default_rng(1))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (found.sum(axis=1) == 500).all()
    assert peak_bytes < 150e6


def test_all_exchanges_are_looked_at_where_they_are_few() -> None:
    found = gate.exchanges(((4, 2), (4, 2)), seed=1, count=36)

    assert found.shape == (36, 8)
    assert len({tuple(row) for row in found}) == 36
    assert (found[:, :4].sum(axis=1) == 2).all()


def test_exchanges_at_random_stay_in_their_block_and_follow_the_seed() -> None:
    shape = ((4, 2),) * 10
    found = gate.exchanges(shape, seed=1, count=20_000)

    assert found.shape == (20_000, 40)
    assert (found.reshape(-1, 10, 4).sum(axis=2) == 2).all()
    assert (gate.random_exchanges(shape, 5, np.random.default_rng(1)) == found[:5]).sum() < 200


def test_a_slowdown_that_no_alarm_could_be_raised_for_is_not_said_to_be_visible() -> None:
    """Of 252 exchanges, the highest sums of four operations at one size are 4 different ones."""
    source = np.random.default_rng(5)
    points = tuple(PointName(f"operation{number}", 8) for number in range(4))
    candidate = np.arange(10) >= 5
    times_s = 1e-6 * np.exp(source.normal(0, 0.01, (10, 4)))
    times_s[candidate, 0] *= 2
    launches = Launches(points, times_s, candidate, np.zeros(10, int))

    verdict = judge(launches, Rule(0.05))

    assert not verdict.alarms
    assert math.isinf(verdict.least_visible_anywhere)
    assert "however much" in gate_text.sentence(verdict)
    assert gate_text.as_object(verdict)["least_visible_anywhere"] is None


def test_from_the_critical_value_on_the_adjusted_p_is_at_most_the_level() -> None:
    source = np.random.default_rng(6)
    for level, complete in itertools.product((0.001, 0.01, 0.05), (True, False)):
        highest = source.integers(0, 60, 252).astype(float)
        critical = gate.critical_value(highest, level, complete=complete)
        for statistic in range(61):
            p_value = gate.adjusted(np.array([float(statistic)]), highest, complete=complete)[0]
            assert (p_value <= level) == (statistic >= critical)
