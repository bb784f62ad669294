# SPDX-License-Identifier: BSD-3-Clause
"""A roll call gives all ranks of a job one answer, and strangers none."""

from __future__ import annotations

import resource
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

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
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[RollCall]:
    """Give a roll call that waits for nobody."""
    monkeypatch.setattr(roll_call, "GRACE_S", 0.0)
    with RollCall() as ranks:
        yield ranks


@pytest.fixture
def variable(called: RollCall) -> str:
    """Give the variable of that roll call."""
    return called.variables()[roll_call.VARIABLE]


def test_all_are_there_when_every_rank_has_reported(variable: str) -> None:
    ranks = [Rank(variable, "first", rank) for rank in range(3)]

    assert [rank.heard for rank in ranks] == ["here"] * 3
    assert [rank.say("all 3") for rank in ranks] == ["yes"] * 3


def test_where_one_is_missing_all_hear_it_and_one_is_to_tell(variable: str) -> None:
    ranks = [Rank(variable, "first", rank) for rank in (0, 2)]

    assert [rank.say("all 3") for rank in ranks] == ["no 2 tell", "no"]


def test_a_job_is_incomplete_once_one_who_asked_was_told_no(
    called: RollCall, variable: str
) -> None:
    whole = [Rank(variable, "whole", rank).say("all 1") for rank in (0, 0)]
    early = called.incomplete
    Rank(variable, "first", 0).say("all 2")

    assert whole == ["yes", "yes"]
    assert (early, called.incomplete) == (False, True)


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


def test_a_large_job_has_more_ranks_than_the_usual_limit_of_open_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roll_call, "GRACE_S", 0.0)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(list(Path("/proc/self/fd").iterdir())) + 16
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    try:
        with RollCall() as called:
            variable = called.variables()[roll_call.VARIABLE]
            ranks = [Rank(variable, "large", rank) for rank in range(64)]

            assert [rank.say("all 64") for rank in ranks] == ["yes"] * 64
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (few, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_ranks_that_all_come_at_once_are_not_turned_away() -> None:
    with RollCall() as called:
        Rank(called.variables()[roll_call.VARIABLE], "first", 0)
        told = called._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)

    # Of a socket that listens the kernel tells, as tcpi_sacked, how many it lets wait.
    somaxconn = int(Path("/proc/sys/net/core/somaxconn").read_text())
    assert struct.unpack_from("I", told, 28)[0] == min(roll_call.BACKLOG, somaxconn)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ((1024, 4096), (4096, 4096)),
        ((1024, 1 << 20), (roll_call.CONNECTIONS_MAX, 1 << 20)),
        ((1024, resource.RLIM_INFINITY), (roll_call.CONNECTIONS_MAX, resource.RLIM_INFINITY)),
        ((1 << 20, 1 << 20), (1 << 20, 1 << 20)),
        ((resource.RLIM_INFINITY,) * 2, (resource.RLIM_INFINITY,) * 2),
    ],
)
def test_the_limit_of_open_files_is_raised_no_further_than_needed_and_never_lowered(
    limits: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert roll_call.raised(limits) == expected
