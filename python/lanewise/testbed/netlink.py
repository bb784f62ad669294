# SPDX-License-Identifier: BSD-3-Clause
"""Requests over netlink(7) and rtnetlink(7) for which pyroute2 has no call."""

from __future__ import annotations

import socket
import struct

_NLM_F_REQUEST, _NLM_F_ACK = 1, 4
_HEADER = struct.Struct("=IHHII")
_ANSWER_MAX = 4096


def ask(link: socket.socket, kind: int, body: bytes, flags: int = 0) -> int:
    """Send one request over a socket of NETLINK_ROUTE; return the kernel's errno, 0 for none."""
    flags |= _NLM_F_REQUEST | _NLM_F_ACK
    link.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
    (error,) = struct.unpack_from("=i", link.recv(_ANSWER_MAX), _HEADER.size)
    return -int(error)


def attribute(kind: int, value: bytes) -> bytes:
    """Return an attribute of a request, padded to whole words."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
