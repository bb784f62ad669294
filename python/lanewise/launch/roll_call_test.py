# SPDX-License-Identifier: BSD-3-Clause
"""A roll call gives all ranks of a job one answer, and strangers none."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from lanewise.launch import roll_call
from lanewise.launch.roll_call import RollCall


class Rank:
    """A rank as the preloaded library talks."""

    def __init__(self, variable: str, job: str, rank: int) -> None:
        token, _, places = variable.partition("@")
        address, _, port = places.split("/")[0].partition(":")
        self.stream = socket.create_connection((address, int(port)), timeout=10).makefile("rw")
        self.heard = self.say(f"{token} {job} {rank}")

    def say(self, line: str) -> str:
        self.stream.write(line + "\n")
        self.stream.flush()
        return self.stream.readline().strip()


@pytest.fixture
def variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the variable of a roll call that waits for nobody."""
    monkeypatch.setattr(roll_call, "GRACE_S", 0.0)
    with RollCall() as ranks:
        yield ranks.variables()[roll_call.VARIABLE]


def test_all_are_there_when_every_rank_has_reported(variable: str) -> None:
    ranks = [Rank(variable, "first", rank) for rank in range(3)]

    assert [rank.heard for rank in ranks] == ["here"] * 3
    assert [rank.say("all 3") for rank in ranks] == ["yes"] * 3


def test_where_one_is_missing_all_hear_it_and_one_is_to_tell(variable: str) -> None:
    ranks = [Rank(variable, "first", rank) for rank in (0, 2)]

    assert [rank.say("all 3") for rank in ranks] == ["no 2 tell", "no"]


def test_one_who_comes_after_the_answer_does_not_change_it(variable: str) -> None:
    early = Rank(variable, "first", 0)
    assert early.say("all 2") == "no 1 tell"

    assert Rank(variable, "first", 1).say("all 2") == "no"


def test_a_rank_of_a_spawned_job_stands_for_none_of_the_first(variable: str) -> None:
    first = Rank(variable, "first", 0)
    Rank(variable, "spawned", 1)

    assert first.say("all 2").startswith("no")


def test_a_rank_that_reports_again_belongs_to_the_next_program(variable: str) -> None:
    assert Rank(variable, "first", 0).say("all 1") == "yes"
    again = Rank(variable, "first", 0)

    assert again.say("all 2").startswith("no")


def test_a_stranger_is_not_counted(variable: str) -> None:
    stranger = Rank("wrong" + variable, "first", 0)

    assert stranger.heard == ""
