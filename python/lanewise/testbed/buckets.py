# SPDX-License-Identifier: BSD-3-Clause
"""The token bucket filter of a device (TBF): how fast it sends, and how much may wait for that.

pyroute2 writes a rate into 32 bits, which end at 34 Gbit/s.  Beyond them the kernel takes another
attribute, and the length of a burst in bytes instead of in ticks of its clock.
"""

from __future__ import annotations

import socket
import struct

from lanewise.testbed.netlink import ask, attribute

# The kernel counts what waits in 32 bits.
QUEUE_BYTES_MAX = 2**32 - 1

_RTM_NEWQDISC = 36
_NLM_F_EXCL, _NLM_F_CREATE = 0x200, 0x400
_TC_H_ROOT, _HANDLE = 0xFFFFFFFF, 0x10000
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TCA_TBF_PARMS, _TCA_TBF_RATE64, _TCA_TBF_BURST = 1, 4, 6
_TC_LINKLAYER_ETHERNET = 1
_TCMSG = struct.Struct("=B3xiIII")
# struct tc_tbf_qopt: struct tc_ratespec of the rate, that of the peak rate, limit, buffer and mtu.
_QOPT = struct.Struct("=BBHhHI12xIII")


def limit_rate(
    link: socket.socket, interface: int, bytes_per_s: int, burst_bytes: int, queue_bytes: int
) -> None:
    """Let an interface send at a rate; raises OSError.

    `link` is a socket of NETLINK_ROUTE, in whose network the interface is.
    """
    least = min(bytes_per_s, 2**32 - 1)
    parameters = _QOPT.pack(0, _TC_LINKLAYER_ETHERNET, 0, 0, 0, least, queue_bytes, 0, 0)
    options = attribute(_TCA_TBF_PARMS, parameters)
    options += attribute(_TCA_TBF_BURST, struct.pack("=I", burst_bytes))
    if bytes_per_s > least:
        options += attribute(_TCA_TBF_RATE64, struct.pack("=Q", bytes_per_s))
    body = _TCMSG.pack(socket.AF_UNSPEC, interface, _HANDLE, _TC_H_ROOT, 0)
    body += attribute(_TCA_KIND, b"tbf\0") + attribute(_TCA_OPTIONS, options)
    error = ask(link, _RTM_NEWQDISC, body, _NLM_F_CREATE | _NLM_F_EXCL)
    if error:
        raise OSError(error, "the token bucket filter")
