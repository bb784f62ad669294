# SPDX-License-Identifier: BSD-3-Clause
"""The plan: turns, time, and what a request is refused for."""

import pytest

from lanewise.errors import RequestError
from lanewise.suite.benchmarks import FIGURES, GROUPS, groups_for
from lanewise.suite.plan import launches, point_limit_s, size_count

TRANSPORTS = ["a", "b", "c"]


def test_every_transport_has_every_group_in_every_round() -> None:
    order = launches(TRANSPORTS, ["x", "y"], rounds=2, seed=1)

    assert len(order) == len(set(order)) == 12


def test_transports_take_turns_within_a_group() -> None:
    order = launches(TRANSPORTS, ["x", "y"], rounds=3, seed=1)

    for begin in range(0, len(order), 3):
        turn = order[begin : begin + 3]
        assert {one.transport for one in turn} == set(TRANSPORTS)
        assert len({(one.round, one.group) for one in turn}) == 1


def test_the_turn_is_drawn_anew_and_the_same_for_the_same_seed() -> None:
    order = [one.transport for one in launches(TRANSPORTS, ["x"], rounds=8, seed=5)]

    assert order == [one.transport for one in launches(TRANSPORTS, ["x"], rounds=8, seed=5)]
    assert len({tuple(order[i : i + 3]) for i in range(0, 24, 3)}) > 1


def test_points_share_what_starts_leave() -> None:
    assert point_limit_s(budget_s=100, start_s=40, points=600) == pytest.approx(0.06)


def test_a_point_gets_its_least_where_time_is_short() -> None:
    assert point_limit_s(budget_s=1, start_s=40, points=600) > 0


@pytest.mark.parametrize(
    ("grammar", "count"), [("8,1K", 2), ("8:64:x2", 4), ("8:4M:x2", 20), ("", 0)]
)
def test_sizes_are_counted_as_the_native_program_does(grammar: str, count: int) -> None:
    assert size_count(grammar) == count


def test_every_figure_has_a_benchmark_that_even_quick_measures() -> None:
    measured = {benchmark for group in groups_for("quick") for benchmark in group.benchmarks}

    assert {figure.benchmark for figure in FIGURES} <= measured


def test_no_benchmark_is_in_two_groups() -> None:
    benchmarks = [benchmark for group in GROUPS for benchmark in group.benchmarks]

    assert len(benchmarks) == len(set(benchmarks))


def test_a_benchmark_that_is_not_known_is_refused() -> None:
    with pytest.raises(RequestError, match="no benchmark 'pingpogn'"):
        groups_for("quick", ["pingpogn"])
