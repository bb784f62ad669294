# SPDX-License-Identifier: BSD-3-Clause
"""A log of faults becomes the script that does them again, or is refused with its line."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.hca.replay import Replayed, read, read_file, read_noted, script

SEND = '{"fault": 1, "occurrence": %s, "call": "ibv_post_send", "what": "ENOMEM"}\n'
LATE = (
    '{"fault": 3, "occurrence": 41, "packet": "acknowledge", "what": "delay", "delay_us": 5000}\n'
)
ERROR = '{"fault": 2, "occurrence": 7, "completion": "send", "what": "IBV_WC_RETRY_EXC_ERR"}\n'
REJECT = '{"fault": 4, "occurrence": 1, "connection": "request", "what": "reject"}\n'


def test_each_rule_has_the_occurrences_of_its_lines_in_order() -> None:
    assert read(LATE + SEND % 9 + ERROR + SEND % 2 + REJECT, "log") == (
        Replayed(1, "call", "ibv_post_send", "ENOMEM", errno.ENOMEM, (2, 9)),
        Replayed(2, "completion", "send", "IBV_WC_RETRY_EXC_ERR", 12, (7,)),
        Replayed(3, "packet", "acknowledge", "delay", 5000, (41,)),
        Replayed(4, "connection", "request", "reject", 0, (1,)),
    )


def test_a_rule_for_any_has_a_part_for_each_kind_that_it_met() -> None:
    receipt = ERROR.replace("send", "receive").replace("7", "3")
    assert read(ERROR + receipt, "log") == (
        Replayed(2, "completion", "receive", "IBV_WC_RETRY_EXC_ERR", 12, (3,)),
        Replayed(2, "completion", "send", "IBV_WC_RETRY_EXC_ERR", 12, (7,)),
    )


def test_processes_that_met_the_same_fault_meet_it_once_more_each() -> None:
    (rule,) = read(SEND % 2 + SEND % 2, "log")
    assert rule.at == (2,)


def test_the_device_is_told_a_line_for_each_rule() -> None:
    assert script(read(SEND % 2 + SEND % 9 + LATE, "log"), "log").splitlines() == [
        "place=call what=ENOMEM value=12 name=ibv_post_send number=1 at=2,9",
        "place=packet what=delay value=5000 name=acknowledge number=3 at=41",
    ]


def test_the_faults_of_an_outcome_are_read_like_the_lines_of_their_log() -> None:
    lines = SEND % 2 + LATE
    assert read_noted([json.loads(line) for line in lines.splitlines()]) == read(lines, "log")


def test_a_rule_for_a_queue_pair_counts_what_occurs_on_that_one_again() -> None:
    for line in (ERROR, SEND % 7, LATE):
        (rule,) = read(line.replace("{", '{"queue_pair": 2, '), "log")
        assert rule.queue_pair == 2
        assert rule.line().endswith(" queue_pair=2")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "log:1: there is no fault in this log; name a log"),
        (SEND % 2 + (SEND % 4)[:30], "log:2: this line is not JSON; name a log"),
        (SEND % 2 + "\n" + SEND % 4, "log:2: this line is not JSON"),
        ("7\n", "log:1: this line is not a JSON object"),
        ('{"fault": 1, "occurrence": 1}', "log:1: one of call, completion"),
        (SEND % 0, "log:1: occurrence = 0 is not a whole number from 1"),
        (SEND % "true", "log:1: occurrence = true is not a whole number"),
        (SEND % 2**64, "log:1: occurrence = 18446744073709551616 is not a whole number"),
        ((SEND % 2).replace("ENOMEM", "EIO"), 'log:1: what = "EIO" is not one of ENOMEM'),
        ((SEND % 2).replace("post_send", "send"), 'log:1: call = "ibv_send" is not one of'),
        ((SEND % 2).replace("{", '{"at": 1, '), "log:1: unknown key 'at'"),
        (LATE.replace("5000", "-1"), "log:1: delay_us = -1 is not a whole number from 0"),
        (LATE.replace("{", '{"of": "any", '), "log:1: unknown key 'of'"),
        (ERROR.replace("{", '{"peer": "10.0.0.2", '), "log:1: unknown key 'peer'"),
        (LATE.replace("{", '{"peer": "fe80::1%lan0", '), "log:1: peer is 'fe80::1%lan0'"),
        (REJECT.replace("{", '{"queue_pair": 2, '), "log:1: unknown key 'queue_pair'"),
        (REJECT.replace("{", '{"device": "lanewise0", '), "log:1: unknown key 'device'"),
        (
            (SEND % 2).replace("post_send", "reg_mr").replace("{", '{"queue_pair": 2, '),
            "log:1: unknown key 'queue_pair'",
        ),
        (LATE + LATE.replace("5000", "6000"), "log:2: fault 3 differs from an earlier line"),
        (
            SEND % 2 + (SEND % 4).replace("send", "recv"),
            "log:2: fault 1 differs from an earlier line",
        ),
        (
            SEND % 2 + (SEND % 4).replace("ENOMEM", "EINVAL"),
            "log:2: fault 1 differs from an earlier line",
        ),
    ],
)
def test_a_damaged_log_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(RequestError) as raised:
        read(text, "log")

    assert str(raised.value).startswith(says)
    assert ";" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_log_that_is_not_there_or_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"cannot be read .*--fault-log"):
        read_file(tmp_path / "none.jsonl")
    (tmp_path / "log").write_bytes(b"\xff\xfe")
    with pytest.raises(RequestError, match="not text"):
        read_file(tmp_path / "log")


def test_more_faults_than_fit_an_environment_are_refused() -> None:
    many = read("".join(SEND % (10**6 + i) for i in range(20_000)), "log")
    with pytest.raises(RequestError, match="log: 20000 faults are too many for one replay"):
        script(many, "log")


def test_the_device_of_a_rule_is_kept() -> None:
    line = '{"fault": 1, "occurrence": 2, "call": "ibv_reg_mr", "what": "ENOMEM", "device": '
    (found,) = read(line + '"lanewise1"}', "log")
    assert "device=lanewise1" in found.line()
    with pytest.raises(RequestError, match="device is 'eth0'"):
        read(line + '"eth0"}', "log")
