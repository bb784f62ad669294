# SPDX-License-Identifier: BSD-3-Clause
"""How often a host asks for the address of a neighbour (rtnetlink(7), RTM_SETNEIGHTBL).

A port of a switch passes nothing for a moment after it has got its carrier.  What a host asks then
is lost, and the kernel would ask again after a second, while nothing passes there.  pyroute2 has no
call for it, and in a namespace of users other than root the kernel has no files for it.
"""

from __future__ import annotations

import socket
import struct

from lanewise.testbed.netlink import ask, attribute

# The kernel gives up after three seconds, as it does by default.
_EVERY_MS, _ASKED_MAX = 20, 150
_TABLES = {socket.AF_INET: b"arp_cache\0", socket.AF_INET6: b"ndisc_cache\0"}
_RTM_SETNEIGHTBL = 67
_NDTA_NAME, _NDTA_PARMS = 1, 6
_NDTPA_IFINDEX, _NDTPA_RETRANS_TIME, _NDTPA_MCAST_PROBES = 1, 5, 11


def ask_soon_again(link: socket.socket, interface: int) -> None:
    """Let the kernel ask soon again for addresses behind an interface; raises OSError.

    `link` is a socket of NETLINK_ROUTE, in whose network the interface is.
    """
    for family, table in _TABLES.items():
        error = ask(link, _RTM_SETNEIGHTBL, _body(family, table, interface))
        if error and family == socket.AF_INET:  # a kernel may be without IPv6
            raise OSError(error, table.decode().strip("\0"))


def _body(family: int, table: bytes, interface: int) -> bytes:
    asks = (
        attribute(_NDTPA_IFINDEX, struct.pack("=I", interface))
        + attribute(_NDTPA_RETRANS_TIME, struct.pack("=Q", _EVERY_MS))
        + attribute(_NDTPA_MCAST_PROBES, struct.pack("=I", _ASKED_MAX))
    )
    body = struct.pack("=B3x", family) + attribute(_NDTA_NAME, table)
    return body + attribute(_NDTA_PARMS, asks)
