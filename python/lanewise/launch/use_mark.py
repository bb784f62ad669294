# SPDX-License-Identifier: BSD-3-Clause
"""A memory file in which the programs of a command mark what they did (src/base/use_mark.hpp)."""

from __future__ import annotations

import fcntl
import os

# Programs use low descriptors as they like.
_DESCRIPTOR_LEAST = 100


def use_mark() -> str:
    """Return the value of the variable; the file lives as long as this process and its programs."""
    made = os.memfd_create("lanewise-rdma", os.MFD_CLOEXEC)
    kept = fcntl.fcntl(made, fcntl.F_DUPFD, _DESCRIPTOR_LEAST)
    os.close(made)
    return f"{os.getpid()}:{kept}"
