# SPDX-License-Identifier: BSD-3-Clause
"""A message travels in the round in which both its ranks have come to it."""

from __future__ import annotations

from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.model.schedule import Message, messages_of

Step = dict[str, Any]


def step(kind: str, peer: int, *after: int) -> Step:
    return {"kind": kind, "peer": peer, "bytes": 8, "after": list(after)}


def copy(*after: int) -> Step:
    return {"kind": "copy", "bytes": 8, "after": list(after)}


def test_what_is_passed_on_travels_a_round_later() -> None:
    chain = [
        [step("send", 1)],
        [step("receive", 0), copy(0), step("send", 2, 0)],
        [step("receive", 1)],
    ]

    assert messages_of(chain) == [Message(0, 0, 1, 8), Message(1, 1, 2, 8)]


def test_what_is_begun_at_once_travels_in_one_round() -> None:
    star = [[step("send", 1), step("send", 2)], [step("receive", 0)], [step("receive", 0)]]

    assert [message.begin for message in messages_of(star)] == [0, 0]


def test_messages_between_the_same_two_follow_one_another() -> None:
    pieces = [[step("send", 1)] * 3, [step("receive", 0)] * 3]

    assert [message.begin for message in messages_of(pieces)] == [0, 1, 2]


@pytest.mark.parametrize(("waits", "begins"), [((), [0, 0]), ((0,), [0, 1])])
def test_a_step_begins_after_those_before_it_in_the_list(
    waits: tuple[int, ...], begins: list[int]
) -> None:
    schedules = [
        [step("send", 1), copy(*waits), step("send", 2)],
        [step("receive", 0)],
        [step("receive", 0)],
    ]

    assert [message.begin for message in messages_of(schedules)] == begins


def test_ranks_that_wait_for_one_another_are_refused() -> None:
    stuck = [
        [step("receive", 1), step("send", 1, 0)],
        [step("receive", 0), step("send", 0, 0)],
    ]

    with pytest.raises(RequestError, match="never ends"):
        messages_of(stuck)
