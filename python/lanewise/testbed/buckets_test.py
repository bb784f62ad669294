# SPDX-License-Identifier: BSD-3-Clause
"""The kernel is told rates of more than 32 bits, and refusals are raised."""

from __future__ import annotations

import errno
import socket
import struct

import pytest

from lanewise.testbed import buckets

HEADER_BYTES, TCMSG_BYTES = 16, 20


class Kernel:
    """Stands for a netlink socket: keeps the request, and answers with an error or none."""

    def __init__(self, error: int = 0) -> None:
        self.request = b""
        self.error = error

    def send(self, request: bytes) -> None:
        self.request = request

    def recv(self, _most: int) -> bytes:
        return struct.pack("=IHHIIi", 36, 2, 0, 1, 0, -self.error)


def limit(kernel: Kernel, bytes_per_s: int) -> None:
    buckets.limit_rate(kernel, 7, bytes_per_s, 2**20, 5 * 10**6)  # type: ignore[arg-type]


def attributes(text: bytes) -> dict[int, bytes]:
    """Return the attributes of a request or of another attribute by their kinds."""
    found, at = {}, 0
    while at < len(text):
        length, kind = struct.unpack_from("=HH", text, at)
        found[kind] = text[at + 4 : at + length]
        at += (length + 3) // 4 * 4
    return found


@pytest.mark.parametrize(
    ("bytes_per_s", "rate", "rate64"),
    [(125_000_000, 125_000_000, None), (5 * 10**9, 2**32 - 1, 5 * 10**9)],
)
def test_a_rate_beyond_32_bits_has_an_attribute_of_its_own(
    bytes_per_s: int, rate: int, rate64: int | None
) -> None:
    kernel = Kernel()

    limit(kernel, bytes_per_s)

    (length,) = struct.unpack_from("=I", kernel.request)
    family, interface = struct.unpack_from("=B3xi", kernel.request, HEADER_BYTES)
    options = attributes(attributes(kernel.request[HEADER_BYTES + TCMSG_BYTES :])[2])
    assert (length, family, interface) == (len(kernel.request), socket.AF_UNSPEC, 7)
    assert struct.unpack_from("=I", options[1], 8) == (rate,)
    assert struct.unpack_from("=I", options[1], 24) == (5 * 10**6,)
    assert options.get(4) == (rate64 and struct.pack("=Q", rate64))
    assert options[6] == struct.pack("=I", 2**20)


def test_what_the_kernel_refuses_is_raised() -> None:
    with pytest.raises(OSError, match="token bucket") as refused:
        limit(Kernel(errno.EINVAL), 1)

    assert refused.value.errno == errno.EINVAL
