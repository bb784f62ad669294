# SPDX-License-Identifier: BSD-3-Clause
"""Plan of a suite: which launches there are, in which order, and how long each may take.  Pure.

Launches are interleaved: within each group of benchmarks the transports follow one another in a
random order, and everything is repeated in rounds.  A machine that drifts then drifts for all
transports alike, and each point is measured by several launches, which differ among themselves
(Hunold and Carpen-Amarie, 2016).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanewise.suite.benchmarks import Effort, Group

ROUNDS: Mapping[Effort, int] = {"quick": 3, "standard": 4, "full": 6}
BUDGET_S: Mapping[Effort, float] = {"quick": 240.0, "standard": 1200.0, "full": 7200.0}
# A point gets no less than this, however little time there is, and no more than it can use.
POINT_MIN_S = 0.01
POINT_MAX_S = 2.0
# What warm-up and set-up of a point take beside the time that it is given.
POINT_SHARE = 0.6


@dataclass(frozen=True)
class Launch:
    """One launch of the ranks: a group of benchmarks on a transport, in a round."""

    round: int
    group: str
    transport: str

    @property
    def name(self) -> str:
        """Return what the launch is called, in files and in messages."""
        return f"{self.transport}.{self.group}.{self.round}"


def launches(
    transports: Sequence[str], groups: Sequence[str], rounds: int, seed: int
) -> list[Launch]:
    """Return every launch in the order in which they are made."""
    source = random.Random(seed)
    order = []
    for number in range(1, rounds + 1):
        for group in groups:
            turn = list(transports)
            source.shuffle(turn)
            order += [Launch(number, group, transport) for transport in turn]
    return order


def point_limit_s(budget_s: float, start_s: float, points: int) -> float:
    """Return the time for each of `points`, so that all of them and the starts fit the budget."""
    if points == 0:
        return POINT_MAX_S
    share = POINT_SHARE * (budget_s - start_s) / points
    return min(POINT_MAX_S, max(POINT_MIN_S, share))


def size_count(grammar: str) -> int:
    """Return how many sizes A,B,C or A:B:xN lists."""
    if not grammar:
        return 0
    if ":" not in grammar:
        return len(grammar.split(","))
    first, last, step = grammar.split(":")
    low, high, factor = size_of(first), size_of(last), int(step.removeprefix("x"))
    count = 0
    while low <= high:
        count, low = count + 1, low * factor
    return count


def last_size(grammar: str) -> int:
    """Return the largest size that A,B,C or A:B:xN lists."""
    words = grammar.split(":")[:2] if ":" in grammar else grammar.split(",")
    return max(size_of(word) for word in words)


def size_of(text: str) -> int:
    """Return the bytes of a size such as 64K."""
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 0)
    return int(text[:-1]) * scale if scale else int(text)


def point_count(group: Group, benchmarks: int, effort: Effort) -> int:
    """Return how many points share the time, of a group cut down to so many benchmarks."""
    return 0 if group.takes_s else benchmarks * size_count(group.sizes_for(effort))
