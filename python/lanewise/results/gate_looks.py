# SPDX-License-Identifier: BSD-3-Clause
"""When to launch which side, and when enough has been launched.

The launches are in blocks of four, two of each side in random order: levels that last for some
launches hit both sides alike.  After a planned number of launches comes a look.  The looks share
the rate of false alarms, and a look that has seen enough is the last one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

from lanewise.errors import RequestError
from lanewise.results.gate import Verdict

BLOCK = 4
LOOKS = 3
LAUNCHES = "10:40"


def looks_of(text: str) -> list[int]:
    """Return after how many launches of each side there is a look, for `10:40` or `20`.

    Numbers are rounded up to whole blocks.
    Raises RequestError for anything else.
    """
    words = text.split(":")
    counts = [int(word) if word.isascii() and word.isdigit() else 0 for word in words]
    if len(counts) not in (1, 2) or min(counts) < 1 or counts != sorted(counts):
        raise RequestError(
            f"--launches {text} is neither a number of launches nor a range; write 20 or {LAUNCHES}"
        )
    first, last = counts[0], counts[-1]
    between = (first * (last / first) ** (step / (LOOKS - 1)) for step in range(LOOKS))
    return sorted({even(count) for count in (first, last, *map(round, between))})


def shares_of(looks: Sequence[int]) -> list[float]:
    """Return the share of the false alarms that each look may use: that of the launches it adds.

    So half is left for the last of three looks, after which nothing can be found any more
    (K. K. G. Lan and D. L. DeMets, "Discrete Sequential Boundaries for Clinical Trials", 1983).
    """
    before = [0, *looks[:-1]]
    return [(count - least) / looks[-1] for least, count in zip(before, looks, strict=True)]


def even(count: int) -> int:
    """Return the next number of launches that fills its blocks."""
    return -(-2 * count // BLOCK) * BLOCK // 2


def order(seed: int) -> Iterator[tuple[int, bool]]:
    """Yield for each launch its block, and whether the candidate is launched, for ever."""
    source = random.Random(seed)
    block = 0
    while True:
        sides = [False, True] * (BLOCK // 2)
        source.shuffle(sides)
        yield from ((block, judged) for judged in sides)
        block += 1


def require_first_look_can_alarm(looks: Sequence[int], level: float) -> None:
    """Raise RequestError, with what would do, where the first look can never alarm.

    `level` is the rate of false alarms of that look.
    """
    if looks[0] >= needed_for(level):
        return
    rate = level / shares_of(looks)[0]
    # More looks after the first leave it a smaller share.
    planned = (
        f"{first}:{max(looks[-1], 4 * first)}"
        for first in itertools.count(needed_for(level), BLOCK // 2)
    )
    enough = next(
        text
        for text in planned
        if looks_of(text)[0] >= needed_for(rate * shares_of(looks_of(text))[0])
    )
    raise RequestError(
        f"{looks[0]} launches of each side cannot reach a rate of false alarms of {level:.2g} "
        f"a look; use --launches {enough} or more"
    )


def needed_for(level: float) -> int:
    """Return how many launches of each side can just reach a rate of false alarms."""
    each = math.comb(BLOCK, BLOCK // 2)
    return even(math.ceil(math.log(1 / level) / math.log(each)) * BLOCK // 2)


def seen_enough(verdict: Verdict, find: float) -> bool:
    """Tell whether no more launches are needed: for an alarm, or for none.

    Without an alarm a slowdown of `find` must be visible, and no operation may be suspect.
    """
    if verdict.alarms:
        return True
    suspect = any(
        one.message_bytes is None and one.slowdown > verdict.rule.gate for one in verdict.findings
    )
    least = verdict.least_visible_anywhere
    return not suspect and not math.isnan(least) and least <= find
