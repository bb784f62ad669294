# SPDX-License-Identifier: BSD-3-Clause
"""Hca status: ask the software devices of running programs what they are doing.

A process with a device has a mailbox, an abstract unix socket named after the slot of its
queue-pair numbers (src/verbs/port/slot.hpp).  It answers the letter `status` of the same user and
of root with a JSON object.  Answers of other users are believed only by root.
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
_MANAGER = "connection_manager"
_QUESTION = b"status"
_ANSWER_S = 1.0
_ANSWER_BYTES_MAX = 1 << 20
_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group

Status = dict[str, Any]


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
    managers = {one["process"]: one[_MANAGER] for one in found if _MANAGER in one}
    devices = [one for one in found if "ports" in one]
    for device in sorted(devices, key=lambda status: int(status["process"])):
        # A process with several devices has one connection manager; it is shown with the first.
        if (manager := managers.pop(device["process"], None)) is not None:
            device[_MANAGER] = manager
    return sorted(devices, key=lambda status: int(status["process"]))


def ask_one(name: str) -> Status | None:
    """Return what one process answers, None where it has just gone or does not answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own, suppress(OSError, ValueError):
        own.settimeout(_ANSWER_S)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ANSWER_BYTES_MAX)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        own.bind("")
        own.sendto(_QUESTION, f"\0{name}")
        room = socket.CMSG_SPACE(_CREDENTIALS.size)
        told, said_beside, _, _ = own.recvmsg(_ANSWER_BYTES_MAX, room)
        if os.getuid() not in {0, sender(said_beside)}:
            return None
        answer = json.loads(told)
        return answer if isinstance(answer, dict) else None
    return None


def sender(said_beside: list[tuple[int, int, bytes]]) -> int | None:
    """Return the user that the kernel names beside a letter."""
    for level, kind, data in said_beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            return int(_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1])
    return None


def text(found: list[Status]) -> str:
    """Return the devices as lines for people."""
    if not found:
        return "no program uses a software device here\n"
    return "".join(_device(status) for status in found)


def _device(status: Status) -> str:
    head = f"{status['program']} ({status['process']}): {status['queue_pair_count']} queue pairs, "
    head += f"{status['regions']} memory regions\n"
    if _MANAGER in status:
        head += f"  connection manager  {_counted(status[_MANAGER])}\n"
    return head + "".join(map(_port, status["ports"])) + "".join(map(_pair, status["queue_pairs"]))


def _port(port: dict[str, Any]) -> str:
    line = f"  port {port['port']} {port['interface']} {port['state']} {' '.join(port['gids'])}"
    return f"{line}  {_counted(port['counters'])}\n"


def _pair(pair: dict[str, Any]) -> str:
    peer = f" to 0x{pair['peer']:06x} at {pair['address']}" if "peer" in pair else ""
    line = f"  {pair['transport']} 0x{pair['number']:06x} {pair['state']} port {pair['port']}{peer}"
    return f"{line} {pair.get('migration', '')}  {_counted(pair['counters'])}\n"


def _counted(counters: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counters.items() if count)
