# SPDX-License-Identifier: BSD-3-Clause
"""TCP ports for servers that a test starts."""

from __future__ import annotations

import random
import socket
from contextlib import suppress


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on, and that no connection is given as its own end.

    By default connections get theirs from 32768 on: one of those may be taken before a server binds
    it.
    """
    found: list[int] = []
    for port in random.sample(range(20000, 32768), 1000):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError("every port that was tried is taken")
