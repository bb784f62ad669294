# SPDX-License-Identifier: BSD-3-Clause
"""Launches are interleaved in blocks, and looks are planned before the first launch."""

import itertools
from dataclasses import replace

import pytest

from lanewise.errors import RequestError
from lanewise.results import gate_looks
from lanewise.results.gate import Finding, Rule, Verdict

PASSED = Verdict(
    rule=Rule(gate=0.05),
    counts=(10, 10),
    interleaved=True,
    findings=[Finding("bcast", None, "", 1e-6, 1e-6, 0.01, 0.5, alarm=False)],
    least_visible={"bcast": 0.08},
    exchanges=7776,
)


@pytest.mark.parametrize(
    ("text", "looks"),
    [("10:40", [10, 20, 40]), ("20", [20]), ("8:72", [8, 24, 72]), ("9:11", [10, 12])],
)
def test_looks_are_spread_evenly_on_a_logarithmic_scale(text: str, looks: list[int]) -> None:
    assert gate_looks.looks_of(text) == looks


def test_a_look_may_use_false_alarms_in_proportion_to_the_launches_that_it_adds() -> None:
    assert gate_looks.shares_of([10, 20, 40]) == [0.25, 0.25, 0.5]
    assert gate_looks.shares_of([20]) == [1.0]


@pytest.mark.parametrize("text", ["", "0", "-3", "40:10", "1:2:3", "ten", "10:", "1.5"])
def test_what_is_no_number_of_launches_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="write 20 or 10:40"):
        gate_looks.looks_of(text)


def test_each_block_has_two_launches_of_each_side_in_an_order_that_follows_the_seed() -> None:
    orders = [list(itertools.islice(gate_looks.order(seed), 400)) for seed in (1, 1, 2)]

    assert orders[0] == orders[1] != orders[2]
    blocks = [orders[0][start : start + 4] for start in range(0, 400, 4)]
    assert all(sum(judged for _, judged in block) == 2 for block in blocks)
    assert all(len({number for number, _ in block}) == 1 for block in blocks)
    assert len({tuple(judged for _, judged in block) for block in blocks}) == 6


def test_a_first_look_that_can_never_alarm_is_refused_before_anything_is_launched() -> None:
    gate_looks.require_first_look_can_alarm([8], 0.01 / 3)
    with pytest.raises(RequestError, match="use --launches 8:40 or more"):
        gate_looks.require_first_look_can_alarm([6, 40], 0.01 / 3)


@pytest.mark.parametrize("text", ["1", "2", "4", "4:8", "4:100"])
def test_the_launches_that_a_refusal_names_are_accepted(text: str) -> None:
    looks = gate_looks.looks_of(text)
    rate = 0.009

    with pytest.raises(RequestError, match="use --launches") as refused:
        gate_looks.require_first_look_can_alarm(looks, rate * gate_looks.shares_of(looks)[0])

    named = gate_looks.looks_of(str(refused.value).split("--launches ")[1].split()[0])
    gate_looks.require_first_look_can_alarm(named, rate * gate_looks.shares_of(named)[0])


def test_a_look_is_the_last_where_a_slowdown_would_have_been_seen() -> None:
    assert gate_looks.seen_enough(PASSED, find=0.1)
    assert not gate_looks.seen_enough(PASSED, find=0.07)


def test_a_look_goes_on_while_an_operation_is_suspect() -> None:
    suspect = replace(PASSED.findings[0], slowdown=0.06)

    assert not gate_looks.seen_enough(replace(PASSED, findings=[suspect]), find=0.1)


def test_an_alarm_ends_the_looks() -> None:
    alarm = replace(PASSED.findings[0], slowdown=0.06, alarm=True)

    assert gate_looks.seen_enough(replace(PASSED, findings=[alarm]), find=0.01)
