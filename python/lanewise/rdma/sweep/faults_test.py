# SPDX-License-Identifier: BSD-3-Clause
"""Which faults a sweep tries, and the script of each."""

from __future__ import annotations

import pytest

from lanewise.hca.faults import STATUSES, read
from lanewise.rdma.sweep.faults import Fault, points, possible


@pytest.mark.parametrize(
    ("count", "expected"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (100, (1, 50, 100))]
)
def test_the_first_the_middle_and_the_last_occurrence_are_tried(
    count: int, expected: tuple[int, ...]
) -> None:
    assert points(count) == expected


def test_a_call_fails_with_each_error_of_its_manual() -> None:
    assert [(one.what, one.occurrence) for one in possible({"call": {"ibv_reg_mr": 2}})] == [
        ("ENOMEM", 1), ("ENOMEM", 2), ("EINVAL", 1), ("EINVAL", 2),
    ]  # fmt: skip


def test_a_completion_has_each_status() -> None:
    found = possible({"completion": {"send": 9}})
    assert {one.what for one in found} == set(STATUSES)
    assert len(found) == len(set(found)) == len(STATUSES) + 2
    flushed = [one.occurrence for one in found if one.what == "IBV_WC_WR_FLUSH_ERR"]
    others = {one.occurrence for one in found if one.what != "IBV_WC_WR_FLUSH_ERR"}
    assert (flushed, others) == ([1, 5, 9], {5})


def test_a_packet_is_lost_for_good_and_meets_each_of_its_other_faults_once() -> None:
    once = [
        "lose", "corrupt", "double", "delay", "mark", "port_down", "gid_change", "device_fatal",
    ]  # fmt: skip
    assert [(one.what, one.onwards) for one in possible({"packet": {"acknowledge": 1}})] == [
        ("lose", True), *((what, False) for what in once),
    ]  # fmt: skip
    assert possible({"packet": {"send": 1}})[-1].what == "not_ready"


def test_only_a_request_is_rejected() -> None:
    found = possible({"connection": {"reply": 1, "request": 1, "disconnected": 4}})
    assert {one.name for one in found if one.what == "reject"} == {"request"}
    assert {one.name for one in found} == {"reply", "request"}


def test_the_first_faults_are_spread_over_all_that_occurred() -> None:
    occurred = {"call": {"ibv_reg_mr": 1, "ibv_post_send": 50}, "packet": {"send": 50}}
    assert {one.name for one in possible(occurred)[:3]} == {"ibv_reg_mr", "ibv_post_send", "send"}


def test_the_script_of_each_fault_is_one_that_the_device_takes() -> None:
    occurred = {
        "call": {"ibv_create_qp": 2}, "completion": {"receive": 3}, "packet": {"write": 3},
        "connection": {"request": 1},
    }  # fmt: skip
    for fault in possible(occurred):
        (rule,) = read(fault.script, "faults")
        assert (rule.place, rule.name, rule.what) == (fault.place, fault.name, fault.what)
        assert rule.after == fault.occurrence - 1
        assert rule.times == (None if fault.onwards else 1)


def test_a_fault_is_shown_with_its_occurrence() -> None:
    assert str(Fault("call", "ibv_reg_mr", "ENOMEM", 1, 2)) == "ibv_reg_mr 1 of 2: ENOMEM"
    gone = Fault("packet", "send", "lose", 3, 5, onwards=True)
    assert str(gone) == "send packet 3 of 5 and all after it: lose"
