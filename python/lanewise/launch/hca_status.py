# SPDX-License-Identifier: BSD-3-Clause
"""Hca status: ask the software devices of running programs what they are doing.

A process with a device has a mailbox, an abstract unix socket named after the slot of its
queue-pair numbers (src/verbs/port/slot.hpp).  It answers the letter `status` of the same user and
of root with a JSON object.  Answers of other users are believed only by root.  Any process may have
taken the name of a mailbox, so an answer that is not of the expected shape is left out.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

_MAILBOX = re.compile(r"@(lanewise-hca/slot/\d+)$", re.MULTILINE)
MANAGER = "connection_manager"
_QUESTION = b"status"
_ANSWER_S = 1.0
_ANSWER_BYTES_MAX = 1 << 20
_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group

Status = dict[str, Any]

# What is shown of an answer (src/verbs/abi/status.cpp): the types of its members, a list with that
# of its elements, and an object with those of its members, whose names may be anything (str).
_COUNTERS = {str: int}
_PORT = {"port": int, "interface": str, "state": str, "gids": [str], "counters": _COUNTERS}
_PAIR = {"number": int, "transport": str, "state": str, "port": int, "counters": _COUNTERS}
_PEER = {"peer": int, "address": str}  # a queue pair may have none
_DEVICE = {
    "process": int, "program": str, "device": str, "regions": int, "ports": [_PORT],
    "queue_pair_count": int, "queue_pairs": [_PAIR],
}  # fmt: skip
_MANAGER = {"process": int, MANAGER: _COUNTERS}


def mailboxes(listing: str) -> list[str]:
    """Return the names of the mailboxes in the text of /proc/net/unix."""
    return sorted(set(_MAILBOX.findall(listing)))


def ask() -> list[Status]:
    """Return the status of every device in this network namespace, in the order of processes."""
    listing = Path("/proc/net/unix").read_text(encoding="ascii", errors="replace")
    found = [status for name in mailboxes(listing) if (status := ask_one(name)) is not None]
    return joined(found)


def joined(found: list[Status]) -> list[Status]:
    """Return the devices among the answers, each with the connection manager of its process."""
    managers = {_process(one): one[MANAGER] for one in found if MANAGER in one}
    devices = [one for one in found if "ports" in one]
    ordered = sorted(devices, key=lambda status: (int(status["process"]), str(status["device"])))
    for device in ordered:
        # A process with several devices has one connection manager; it is shown with the first.
        if (manager := managers.pop(_process(device), None)) is not None:
            device[MANAGER] = manager
    return ordered


def _process(answer: Status) -> tuple[str, int]:
    """Return what an answer is from; several processes of one number are in several namespaces."""
    return str(answer.get("pid_namespace")), int(answer["process"])


def ask_one(name: str) -> Status | None:
    """Return what one process answers, None where it has just gone or does not answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own, suppress(OSError):
        own.settimeout(_ANSWER_S)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ANSWER_BYTES_MAX)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        own.bind("")
        own.sendto(_QUESTION, f"\0{name}")
        room = socket.CMSG_SPACE(_CREDENTIALS.size)
        letter, ancillary, _, _ = own.recvmsg(_ANSWER_BYTES_MAX, room)
        process, user = sender(ancillary)
        if os.getuid() not in {0, user}:
            return None
        answer = read(letter)
        # The number that the process has here, unless it is in a namespace that is not seen from
        # here.
        return answer | {"process": process} if answer and process else answer
    return None


def read(letter: bytes) -> Status | None:
    """Return the device or connection manager that a letter describes, None where it does not."""
    try:
        answer = json.loads(letter)
    except (ValueError, RecursionError):
        return None
    if _fits(answer, _MANAGER):
        return dict(answer)
    is_device = _fits(answer, _DEVICE) and all(
        _fits(pair, _PEER) for pair in answer["queue_pairs"] if "peer" in pair
    )
    return dict(answer) if is_device else None


def _fits(value: object, shape: Any) -> bool:
    """Tell whether a value has the types of a shape; an object may have further members."""
    if isinstance(shape, type):
        return type(value) is shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(one, shape[0]) for one in value)
    if not isinstance(value, dict):
        return False
    if str in shape:
        return all(_fits(one, shape[str]) for one in value.values())
    return all(key in value and _fits(value[key], of) for key, of in shape.items())


def sender(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int | None]:
    """Return the process and user that the kernel names in the ancillary data of a letter.

    A process that has no number here is 0.
    """
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            process, user, _ = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])
            return process, user
    return 0, None
