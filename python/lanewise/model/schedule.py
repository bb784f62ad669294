# SPDX-License-Identifier: BSD-3-Clause
"""Schedules as lanewise-schedule tells them, and the round in which each message travels.

A message takes one round and begins when both ranks have come to it, after those before it between
the same two: each rank starts its steps in the order of the list and waits for those that a step
names.  Copies and reductions take no time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.errors import RequestError
from lanewise.model.program import ask

SCHEDULE = "lanewise-schedule"

Step = dict[str, Any]
Place = tuple[int, int]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm that is listed, and what it asks of a call."""

    collective: str
    name: str
    source: str
    cost: str
    restrictions: tuple[str, ...]


@dataclass(frozen=True)
class Message:
    """A message and its round, rounds counted from 0."""

    begin: int
    sender: int
    receiver: int
    message_bytes: int


def read_algorithms() -> list[Algorithm]:
    """Return every algorithm there is."""
    listed = json.loads(ask("--list", name=SCHEDULE))
    return [Algorithm(**{**one, "restrictions": tuple(one["restrictions"])}) for one in listed]


def read_schedules(arguments: Sequence[str]) -> list[list[Step]]:
    """Return the steps of each rank, of the call that `arguments` describe."""
    told = json.loads(ask(*arguments, name=SCHEDULE))
    return [one["steps"] for one in told["schedules"]]


def messages_of(schedules: Sequence[Sequence[Step]]) -> list[Message]:
    """Return the messages of all ranks, those of early rounds first."""
    messages = []
    for (rank, at), begin in _begins(schedules).items():
        step = schedules[rank][at]
        if step["kind"] == "send":
            messages.append((begin, rank, int(step["peer"]), int(step["bytes"])))
    return [Message(*one) for one in sorted(messages)]


def _met(schedules: Sequence[Sequence[Step]]) -> dict[Place, Place]:
    """Return the step that each message step meets: the n-th send meets the n-th receive."""
    ends: dict[tuple[str, int, int], list[Place]] = defaultdict(list)
    for rank, steps in enumerate(schedules):
        for at, step in enumerate(steps):
            if step["kind"] == "send":
                ends["send", rank, step["peer"]].append((rank, at))
            elif step["kind"] == "receive":
                ends["receive", step["peer"], rank].append((rank, at))
    met = {}
    for (kind, sender, receiver), sends in ends.items():
        if kind == "send":
            for send, receive in zip(sends, ends["receive", sender, receiver], strict=True):
                met[send], met[receive] = receive, send
    return met


def _begins(schedules: Sequence[Sequence[Step]]) -> dict[Place, int]:
    """Return the round in which each message step's message begins to travel."""
    met = _met(schedules)
    started: dict[Place, int] = {}
    begins: dict[Place, int] = {}
    free: dict[tuple[int, int], int] = defaultdict(int)
    ready = [0] * len(schedules)
    following = [0] * len(schedules)
    moving = True
    while moving:
        moving = False
        for rank, steps in enumerate(schedules):
            while following[rank] < len(steps):
                here = (rank, following[rank])
                step = steps[following[rank]]
                waits = [(rank, at) for at in step["after"] if "peer" in steps[at]]
                if any(place not in begins for place in waits):
                    break
                ready[rank] = max([ready[rank], *(begins[place] + 1 for place in waits)])
                following[rank] += 1
                moving = True
                if here not in met:
                    continue
                started[here] = ready[rank]
                other = met[here]
                if other in started:
                    way = (rank, other[0]) if step["kind"] == "send" else (other[0], rank)
                    begin = max(started[here], started[other], free[way])
                    begins[here] = begins[other] = begin
                    free[way] = begin + 1
    if len(begins) != len(met):
        raise RequestError("these ranks wait for one another; the schedule never ends")
    return begins
