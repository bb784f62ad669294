# SPDX-License-Identifier: BSD-3-Clause
"""Faults of a sweep: those that are possible where certain calls, completions and so on occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

from lanewise.hca.faults import CALLS, COMPLETIONS, MESSAGES, PACKETS, STATUSES

DELAY = "10 ms"
OUTAGE = "50 ms"
_ACTIONS = ("lose", "corrupt", "double", "delay", "mark", "port_down", "gid_change", "device_fatal")
# Only what takes a receive can find none.
_TAKES_RECEIVE = ("send", "write")
_WORDS = {"call": "error", "completion": "status", "packet": "action", "connection": "action"}
# A script knows no other kinds, such as messages that only the far end of a connection reacts to.
_NAMES = {
    "call": tuple(CALLS), "completion": COMPLETIONS, "packet": PACKETS, "connection": MESSAGES
}  # fmt: skip
# Every kind of work may be flushed: this status is tried at three occurrences, the others at one.
_FLUSHED = "IBV_WC_WR_FLUSH_ERR"


@dataclass(frozen=True)
class Fault:
    """What goes wrong in one run: at one occurrence of `count`, or at all from there on."""

    place: str
    name: str
    what: str
    occurrence: int
    count: int
    onwards: bool = False

    def __str__(self) -> str:
        """Return it as people read it: `ibv_reg_mr 1 of 2: ENOMEM`."""
        called = self.name if self.place == "call" else f"{self.name} {self.place}"
        last = " and all after it" if self.onwards else ""
        return f"{called} {self.occurrence} of {self.count}{last}: {self.what}"

    @property
    def script(self) -> str:
        """Return the TOML with which `lanewise rdma run --faults` does the same."""
        lines = [
            f'[[fault]]\n{self.place} = "{self.name}"',
            f'{_WORDS[self.place]} = "{self.what}"',
        ]
        lines += [f'delay = "{DELAY}"'] * (self.what == "delay")
        lines += [f'for = "{OUTAGE}"'] * (self.what == "port_down")
        lines += [f"after = {self.occurrence - 1}"]
        lines += ["times = 1"] * (not self.onwards)
        return "\n".join(lines) + "\n"


def possible(occurred: Mapping[str, Mapping[str, int]]) -> tuple[Fault, ...]:
    """Return the faults that are possible where these counts occurred, by place and name.

    The first fault of everything that occurred comes first, then the second, and so on, so that
    any number of them from the start is spread over all.
    """
    each = [
        _of_one(place, name, count)
        for place, counts in occurred.items() for name, count in counts.items()
        if name in _NAMES[place]
    ]  # fmt: skip
    return tuple(fault for fault in chain(*zip_longest(*each)) if fault is not None)


def points(count: int) -> tuple[int, ...]:
    """Return the first, the middle and the last of `count` occurrences, each once."""
    return tuple(sorted({1, (count + 1) // 2, count}))


def _of_one(place: str, name: str, count: int) -> list[Fault]:
    if place == "call":
        return [Fault(place, name, error, at, count)
                for error in CALLS[name] for at in points(count)]  # fmt: skip
    if place == "completion":
        others = (status for status in STATUSES if status != _FLUSHED)
        return [
            *(Fault(place, name, _FLUSHED, at, count) for at in points(count)),
            *(Fault(place, name, status, (count + 1) // 2, count) for status in others),
        ]
    if place == "packet":
        actions = (*_ACTIONS, *(("not_ready",) if name in _TAKES_RECEIVE else ()))
        return _lost_for_good(place, name, "lose", count) + [
            Fault(place, name, action, at, count) for action in actions for at in points(count)
        ]
    verdicts = ("ignore", "reject") if name == "request" else ("ignore",)
    return _lost_for_good(place, name, "ignore", count) + [
        Fault(place, name, action, at, count) for action in verdicts for at in points(count)
    ]


def _lost_for_good(place: str, name: str, action: str, count: int) -> list[Fault]:
    """Return what a peer does that is gone from one of three occurrences on."""
    return [Fault(place, name, action, at, count, onwards=True) for at in points(count)]
