# SPDX-License-Identifier: BSD-3-Clause
"""The hosts that a person names, on the command line or in a host file, with their slots.

Host files differ: Open MPI writes `node1 slots=4`, MPICH `node1:4`, others name a host on a line
for each slot.  All of these are read, so that it is known how many ranks there is room for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch.allocation import HOSTS_MAX, OUTSIDE_BRACKETS, node_names
from lanewise.toml.text import read_text

_SLOTS = re.compile(r"slots?=(.*)")


@dataclass(frozen=True)
class Named:
    """A host that was named, and its slots; None where they were left to the launcher."""

    name: str
    slots: int | None = None

    @property
    def word(self) -> str:
        """Return the host as it is typed, `node1` or `node1:4`."""
        return self.name if self.slots is None else f"{self.name}:{self.slots}"


def hosts_in(text: str, where: str = "--hosts") -> tuple[Named, ...]:
    """Return the hosts of `a:4,b:4` or `node[1-4]`; RequestError names what is wrong in them."""
    found: list[Named] = []
    for word in OUTSIDE_BRACKETS.split(text):
        if word.strip():
            found += _hosts(word.strip(), where)
    if text and not found:
        raise RequestError(f"{where} '{text}' names no host; write node1:4,node2:4")
    return tuple(found)


def _hosts(word: str, where: str) -> list[Named]:
    name, colon, slots = word.rpartition(":")
    if not colon or ":" in name:
        name, slots = word, ""
    if colon and ":" not in name and not name.startswith("["):
        return [Named(host, _slots(slots, where)) for host in _expanded(name, where)]
    return [Named(host) for host in _expanded(name, where)]


def _expanded(name: str, where: str) -> tuple[str, ...]:
    """Return the hosts that a name with brackets stands for; any other name is one host."""
    if name.startswith("-") or any(letter.isspace() for letter in name):
        raise RequestError(f"{where} '{name}': a host has a name such as node1")
    if "[" not in name or ":" in name:
        return (name,)
    try:
        return node_names(name)
    except ValueError as error:
        raise RequestError(f"{where}: {error}") from None


def _slots(text: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) == 0:
        raise RequestError(f"{where}: slots '{text[:40]}' is not a positive number; write node1:4")
    return int(text)


def hostfile_hosts(text: str, where: str) -> tuple[Named, ...]:
    """Return the hosts of a host file's text, which messages call `where`.

    A host that is named again gets another slot, unless its lines say how many.
    """
    hosts: dict[str, int | None] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        place = f"{where}:{number}"
        told = [match[1] for word in words[1:] if (match := _SLOTS.fullmatch(word))]
        for named in hosts_in(words[0], place):
            slots = _slots(told[0], place) if told else named.slots
            again = named.name in hosts
            before = hosts.get(named.name)
            hosts[named.name] = (before or 1) + (slots or 1) if again else slots
        if len(hosts) > HOSTS_MAX:
            raise RequestError(f"{where} names more than {HOSTS_MAX} hosts")
    if not hosts:
        raise RequestError(f"{where} names no host; write one on each line, such as node1 slots=4")
    return tuple(Named(name, slots) for name, slots in hosts.items())


def read_hostfile(path: str) -> tuple[Named, ...]:
    """Return the hosts of a host file; RequestError where it cannot be read."""
    text = read_text(Path(path), "write a host on each line, as node1 slots=4", f"host file {path}")
    return hostfile_hosts(text, path)


def spread(hosts: Sequence[str], ranks: int) -> list[str]:
    """Return hosts with the slots that `ranks` take on them; those that tell theirs are left.

    Neighbours share a host, and the first hosts have one more where they do not come out even.
    """
    each, more = divmod(ranks, len(hosts))
    if any(":" in host for host in hosts):
        return list(hosts)
    slots = [each + (index < more) for index in range(len(hosts))]
    return [f"{host}:{max(1, count)}" for host, count in zip(hosts, slots, strict=True)]
