# SPDX-License-Identifier: BSD-3-Clause
"""Status: ask the software devices of running programs what they are doing.

A process with a device has a mailbox, an abstract unix socket named after the slot of its
queue-pair numbers (src/verbs/port/slot.hpp).  It answers the letter `status` of the same user and
of root with a JSON object.  Answers of other users are believed only by root.  Any process may have
taken the name of a mailbox, so an answer that is not of the expected shape is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A line of /proc/net/unix: seven columns, of which the last is the inode, and the name.
_MAILBOX = re.compile(
    r"^[0-9a-fA-F]+:(?: [0-9a-fA-F]+){5} +(\d+) @(lanewise-hca/slot/([1-9]\d{0,3}))$", re.MULTILINE
)
_SLOTS = range(1, 1023)  # src/verbs/port/slot.hpp
MANAGER = "connection_manager"
_QUESTION = b"status"
_ANSWER_S = 1.0
_ANSWER_S_MIN = 0.1  # of those that are asked late
_ASKED_AT_ONCE = 64  # each with a descriptor, of which a process often may have 1024
_ANSWER_BYTES_MAX = 1 << 20
_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group

_LEVELS_MAX = 64  # in what is answered, which has further members than those below

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


@dataclass(frozen=True)
class Found:
    """The devices of the processes that answered, and `process` and `program` of each other one."""

    devices: list[Status]
    unanswered: list[Status]


def mailboxes(listing: str) -> dict[str, int]:
    """Return the names of the mailboxes in the text of /proc/net/unix, and their inodes.

    Any socket's name may have line breaks, and so be whole lines: each name here may be forged.
    """
    found = _MAILBOX.findall(listing)
    return {name: int(inode) for inode, name, slot in found if int(slot) in _SLOTS}


def ask() -> list[Status]:
    """Return the status of every device in this network namespace, in the order of processes."""
    return ask_all().devices


def ask_all() -> Found:
    """Ask all devices in this network namespace, and whose they are that do not answer.

    Of other users' processes, whose devices do not answer, only root sees whose they are.
    """
    listing = Path("/proc/net/unix").read_text(encoding="ascii", errors="replace")
    inodes = mailboxes(listing)
    names = sorted(inodes)
    answers: dict[str, Status] = {}
    deadline_s = time.monotonic() + _ANSWER_S
    for first in range(0, len(names), _ASKED_AT_ONCE):
        answers |= _answers(names[first : first + _ASKED_AT_ONCE], deadline_s)
    silent = {inode for name, inode in inodes.items() if name not in answers}
    return Found(joined(list(answers.values())), _holders(silent))


def _answers(names: list[str], deadline_s: float) -> dict[str, Status]:
    """Return what the owners of these mailboxes answer by the deadline, or a little later.

    Whoever keeps those silent that are asked first costs the others no answer.
    """
    found: dict[str, Status] = {}
    until_s = max(deadline_s, time.monotonic() + _ANSWER_S_MIN)
    with contextlib.ExitStack() as open_sockets, selectors.DefaultSelector() as waiting:
        for name in names:
            # Its owner may have just gone.  Only the mailbox can answer to what is connected to it.
            with contextlib.suppress(OSError):
                own = open_sockets.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                own.settimeout(0)
                own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ANSWER_BYTES_MAX)
                own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                own.bind("")
                own.connect(f"\0{name}")
                own.send(_QUESTION)
                waiting.register(own, selectors.EVENT_READ, (name, own))
        while waiting.get_map() and (left_s := until_s - time.monotonic()) > 0:
            for ready, _ in waiting.select(left_s):
                name, own = ready.data
                waiting.unregister(own)
                if (answer := _answer_on(own)) is not None:
                    found[name] = answer
    return found


def _holders(inodes: set[int]) -> list[Status]:
    """Return the processes that have these sockets, of those into which this user may look."""
    names = {f"socket:[{inode}]" for inode in inodes}
    numbers = sorted(int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal())
    found: list[Status] = []
    for number in numbers if names else ():
        folder = Path("/proc", str(number))
        with contextlib.suppress(OSError):
            if names.isdisjoint(map(_target, (folder / "fd").iterdir())):
                continue
            program = (folder / "comm").read_text(encoding="utf-8", errors="replace")
            found.append({"process": number, "program": program.removesuffix("\n")})
    return found


def _target(link: Path) -> str:
    """Return where a link leads, empty where it has gone."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


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


def _answer_on(own: socket.socket) -> Status | None:
    """Return what one process has answered, None where that makes no sense or is not believed."""
    try:
        room = socket.CMSG_SPACE(_CREDENTIALS.size)
        letter, ancillary, _, _ = own.recvmsg(_ANSWER_BYTES_MAX, room)
    except OSError:
        return None
    process, user = sender(ancillary)
    if os.getuid() not in {0, user}:
        return None
    answer = read(letter)
    # The number that the process has here, unless it is in a namespace that is not seen from here.
    return answer | {"process": process} if answer and process else answer


def read(letter: bytes) -> Status | None:
    """Return the device or connection manager that a letter describes, None where it does not."""
    try:
        answer = json.loads(letter)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or not _is_shallow(answer, _LEVELS_MAX):
        return None
    if "ports" not in answer:
        return answer if _fits(answer, _MANAGER) else None
    # A connection manager answers apart from the devices of its process.
    is_device = (
        MANAGER not in answer
        and _fits(answer, _DEVICE)
        and all(_fits(pair, _PEER) for pair in answer["queue_pairs"] if "peer" in pair)
    )
    return answer if is_device else None


def _is_shallow(value: object, levels: int) -> bool:
    """Tell whether lists and objects are nested no deeper than this."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_is_shallow(one, levels - 1) for one in value)


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
