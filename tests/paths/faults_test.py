# SPDX-License-Identifier: BSD-3-Clause
"""Cables pulled at every bad moment: all messages arrive exactly once, and traffic comes home."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest
from exchanges import Cut, Plan, exchange
from hosts import Hosts

SCHEMA = Path(__file__).parents[2] / "schema" / "protect.schema.json"
ONE, TWO = "lan0", "lan1"


def test_without_a_cut_nothing_migrates(hosts: Hosts, tmp_path: Path) -> None:
    found = exchange(hosts, tmp_path, Plan())
    found.check()
    assert [report["migrations"] for report in found.reports] == [0, 0]
    assert [report["armed"] for report in found.reports] == [2, 2]


@pytest.mark.parametrize("side", ["listener", "caller"])
def test_a_cut_at_either_side_moves_both_and_they_come_home(
    hosts: Hosts, tmp_path: Path, side: str
) -> None:
    cuts = [Cut(ONE, 0.4, 0.3)]
    found = exchange(hosts, tmp_path, Plan(seconds=2.5, **{f"at_{side}": cuts}))
    found.check()
    assert [report["migrations"] for report in found.reports] == [4, 4]
    assert [report["returns"] for report in found.reports] == [2, 2]


def test_a_program_stays_on_the_other_port_where_told_to(hosts: Hosts, tmp_path: Path) -> None:
    plan = Plan(seconds=2, at_caller=[Cut(ONE, 0.4, 0.3)], options=("--policy", "stay"))
    found = exchange(hosts, tmp_path, plan)
    found.check()
    assert [report["migrations"] for report in found.reports] == [2, 2]


def test_a_port_that_flaps_loses_nothing(hosts: Hosts, tmp_path: Path) -> None:
    cuts = [Cut(ONE, 0.2 + 0.15 * turn, 0.07) for turn in range(6)]
    exchange(hosts, tmp_path, Plan(seconds=1.5, at_caller=cuts)).check()


def test_both_ports_may_be_dead_within_the_time_of_grace(hosts: Hosts, tmp_path: Path) -> None:
    cuts = [Cut(ONE, 0.4, 2), Cut(TWO, 0.4, 2)]
    exchange(hosts, tmp_path, Plan(seconds=4, at_caller=cuts)).check()


def test_without_grace_two_dead_ports_end_the_program(hosts: Hosts, tmp_path: Path) -> None:
    cuts = [Cut(ONE, 0.3, 2), Cut(TWO, 0.3, 2)]
    plan = Plan(seconds=3, at_caller=cuts, options=("--grace", "0"))
    with pytest.raises(AssertionError, match="transport retry counter exceeded"):
        exchange(hosts, tmp_path, plan)


def test_the_second_cable_may_go_while_the_first_migration_is_under_way(
    hosts: Hosts, tmp_path: Path
) -> None:
    cuts = [Cut(ONE, 0.4, 0.5), Cut(TWO, 0.405, 0.2)]
    exchange(hosts, tmp_path, Plan(seconds=2.5, at_caller=cuts)).check()


def test_a_cut_may_come_before_the_alternate_is_armed(hosts: Hosts, tmp_path: Path) -> None:
    exchange(hosts, tmp_path, Plan(at_caller=[Cut(ONE, 0, 0.4)], seconds=1.5)).check()


def test_a_report_is_as_its_schema_says(hosts: Hosts, tmp_path: Path) -> None:
    found = exchange(hosts, tmp_path, Plan(seconds=1, at_caller=[Cut(ONE, 0.3, 0.2)]))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for report in found.reports:
        jsonschema.validate(report, schema)


@pytest.mark.parametrize("seed", range(3))
def test_cuts_at_random_moments_lose_nothing(hosts: Hosts, tmp_path: Path, seed: int) -> None:
    exchange(hosts, tmp_path, random_plan(seed, moments=6)).check()


def random_plan(seed: int, moments: int) -> Plan:
    """Return cuts of either cable at either side, one port of a side at a time."""
    drawn = random.Random(seed)
    sides: tuple[list[Cut], list[Cut]] = ([], [])
    at_s = 0.1
    for _ in range(moments):
        at_s += drawn.uniform(0.0, 0.3)
        for_s = drawn.uniform(0.001, 0.2)
        drawn.choice(sides).append(Cut(drawn.choice([ONE, TWO]), round(at_s, 4), round(for_s, 4)))
        at_s += for_s
    return Plan(seconds=at_s + 0.5, at_listener=sides[0], at_caller=sides[1])
