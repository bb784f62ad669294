# SPDX-License-Identifier: BSD-3-Clause
"""Replay: the log of faults that happened becomes a script that makes the same happen again.

    {"fault": 1, "occurrence": 3, "call": "ibv_post_send", "what": "ENOMEM"}
    {"fault": 2, "occurrence": 41, "packet": "send", "what": "delay", "delay_us": 5000}

The device writes such a line for each fault (src/verbs/faults/injector.cpp): the number of the
rule, which occurrence of its kind it was, and what was done.  A replay needs neither the rules nor
their seed: it has a rule for each that is in the log, and for each kind that a rule for `any` met.
It does the same at the same occurrences.  What is damaged is refused with its line.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.hca import faults as fault_scripts
from lanewise.hca.faults import CALLS, STATUSES
from lanewise.toml.text import read_text

REMEDY = "name a log as --fault-log wrote it"
LARGEST = 2**64 - 1
DELAY_US_MAX = 2**32 - 1
_CHOICES: dict[str, tuple[str, ...]] = {
    "call": tuple(CALLS),
    "completion": fault_scripts.COMPLETIONS[1:],
    "packet": (*fault_scripts.PACKETS[1:], "unknown"),
    "connection": (
        *fault_scripts.MESSAGES[1:], "receipt", "rejection", "disconnected", "datagram_reply",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Replayed:
    """The rule of a replay: what is done, and at which occurrences of what it counts."""

    number: int  # of the rule in the script of the earlier run
    place: str
    name: str
    what: str
    value: int
    at: tuple[int, ...] = ()
    device: str = ""  # that the rule counts; empty: all devices
    queue_pair: int = 0  # that it counts; 0: all of them
    peer: str = ""  # of the packets that it counts; empty: all
    bytes_min: int = 0

    def line(self) -> str:
        """Return the rule as a line of LANEWISE_HCA_FAULTS (src/verbs/faults/plan.hpp)."""
        words = [f"place={self.place}", f"what={self.what}", f"value={self.value}"]
        words += [f"name={self.name}", f"number={self.number}"]
        words += [f"at={','.join(map(str, self.at))}"]
        words += [f"device={self.device}"] * bool(self.device)
        words += [f"queue_pair={self.queue_pair}"] * bool(self.queue_pair)
        words += [f"peer={self.peer}"] * bool(self.peer)
        words += [f"bytes_min={self.bytes_min}"] * bool(self.bytes_min)
        return " ".join(words)


def read_file(path: Path) -> tuple[Replayed, ...]:
    """Read the faults of a log; RequestError where that cannot be."""
    return read(read_text(path, REMEDY), str(path))


def read(text: str, where: str) -> tuple[Replayed, ...]:
    """Read faults from the text of a log that is called `where`, by the numbers of their rules."""
    rules: dict[int, Replayed] = {}
    occurrences: dict[tuple[int, str], set[int]] = {}
    for line, words in enumerate(text.splitlines(), 1):
        reader = _Line(f"{where}:{line}", words)
        rule = reader.rule()
        if not _alike(rules.setdefault(rule.number, rule), rule):
            raise reader.refuse(f"fault {rule.number} differs from an earlier line with this "
                                "number; name the log of runs with one script")  # fmt: skip
        counted = occurrences.setdefault((rule.number, rule.name), set())
        counted.add(reader.whole("occurrence", LARGEST))
    if not rules:
        raise RequestError(f"{where}:1: there is no fault in this log; {REMEDY}")
    return tuple(
        replace(rules[number], name=name, at=tuple(sorted(counted)))
        for (number, name), counted in sorted(occurrences.items())
    )


def _alike(one: Replayed, other: Replayed) -> bool:
    """Tell whether two faults can be of one rule, which may be for `any` except with calls."""
    return one == (other if one.place == "call" else replace(other, name=one.name))


def read_noted(faults: Sequence[Mapping[str, Any]]) -> tuple[Replayed, ...]:
    """Read faults from objects, the lines of a log; RequestError where one cannot be."""
    return read("\n".join(map(json.dumps, faults)), "replay")


def script(faults: tuple[Replayed, ...], where: str) -> str:
    """Return what the device is told; RequestError where that is more than a program can be."""
    text = "\n".join(fault.line() for fault in faults)
    if len(text) > fault_scripts.SCRIPT_BYTES_MAX:
        count = sum(len(fault.at) for fault in faults)
        remedy = "log a shorter run, or repeat it with --faults and its seed"
        raise RequestError(f"{where}: {count} faults are too many for one replay; {remedy}")
    return text


def _keys_of(place: str, name: str, what: str) -> set[str]:
    """Return the keys that the line of a fault can have."""
    known = {"fault", "occurrence", place, "what"}
    if place != "connection":
        known.add("device")
    if place in ("completion", "packet") or name in fault_scripts.QUEUE_PAIR_CALLS:
        known.add("queue_pair")
    if place == "packet":
        known |= {"peer", "bytes_min"}
    if what in fault_scripts.ACTION_TIMES:
        known.add(f"{fault_scripts.ACTION_TIMES[what]}_us")
    return known


class _Line:
    """Reads one line of a log, and names it where it is damaged."""

    def __init__(self, where: str, text: str) -> None:
        self.where = where
        try:
            self.values = json.loads(text)
        except (ValueError, RecursionError):
            raise self.refuse("this line is not JSON") from None
        if not isinstance(self.values, dict):
            raise self.refuse("this line is not a JSON object")

    def refuse(self, sentence: str) -> RequestError:
        remedy = "" if ";" in sentence else f"; {REMEDY}"
        return RequestError(f"{self.where}: {sentence}{remedy}")

    def rule(self) -> Replayed:
        """Return the rule that it is of, without the occurrence."""
        places = [place for place in _CHOICES if place in self.values]
        if len(places) != 1:
            raise self.refuse(f"one of {', '.join(_CHOICES)} must be there")
        (place,) = places
        name = self.one_of(place, _CHOICES[place])
        what, value = self.done(place, name)
        unknown = self.values.keys() - _keys_of(place, name, what)
        if unknown:
            raise self.refuse(f"unknown key '{min(unknown)}'")
        number = self.whole("fault", LARGEST)
        bytes_min = self.whole("bytes_min", LARGEST) if "bytes_min" in self.values else 0
        queue_pair = self.whole("queue_pair", LARGEST) if "queue_pair" in self.values else 0
        return Replayed(
            number, place, name, what, value,
            device=self.device(), queue_pair=queue_pair, peer=self.peer(), bytes_min=bytes_min,
        )  # fmt: skip

    def peer(self) -> str:
        """Return from whom packets come that the rule is for, empty for anybody."""
        value = self.values.get("peer", "")
        try:
            return fault_scripts.peer_address(value) if value != "" else ""
        except ValueError:
            raise self.refuse(f"peer is {value!r}") from None

    def device(self) -> str:
        """Return the device that the rule is for, empty for all."""
        value = self.values.get("device", "")
        if value and not (isinstance(value, str) and fault_scripts.DEVICE.fullmatch(value)):
            raise self.refuse(f"device is {value!r}")
        return str(value)

    def done(self, place: str, name: str) -> tuple[str, int]:
        """Return what was done, and the number that the device takes for it."""
        if place == "call":
            what = self.one_of("what", CALLS[name])
            return what, int(getattr(errno, what))
        if place == "completion":
            what = self.one_of("what", STATUSES)
            return what, STATUSES.index(what) + 1
        if place == "connection":
            return self.one_of("what", fault_scripts.MESSAGE_ACTIONS), 0
        what = self.one_of("what", fault_scripts.PACKET_ACTIONS)
        key = fault_scripts.ACTION_TIMES.get(what)
        return what, self.whole(f"{key}_us", DELAY_US_MAX, least=0) if key else 0

    def one_of(self, key: str, known: tuple[str, ...]) -> str:
        value = self.values.get(key)
        if value not in known:
            raise self.refuse(f"{key} = {json.dumps(value)} is not one of {', '.join(known)}")
        return str(value)

    def whole(self, key: str, most: int, *, least: int = 1) -> int:
        value = self.values.get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.refuse(
                f"{key} = {json.dumps(value)} is not a whole number from {least} to {most}"
            )
        return value
