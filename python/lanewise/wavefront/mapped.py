# SPDX-License-Identifier: BSD-3-Clause
"""Mapped: arrays whose rows are in a file (numpy.memmap) and move without staying in memory.

Pages of a file that a program has touched count as its memory until the kernel needs them for
something else.  What has moved is not needed again, so its pages are given back at once.  A file
may have holes, such as one that is new, and a program that writes to a hole which the disk has no
room for is ended by SIGBUS, so holes are filled before.
"""

from __future__ import annotations

import errno
import mmap
import os
from typing import Any

import numpy as np

from lanewise.errors import RunError

_FULL = (errno.ENOSPC, errno.EDQUOT)
# Of a private mapping (mode "c") the pages that were written are nowhere else.
_SHARED_MODES = ("r", "r+", "w+")


def give_pages_back(values: Any) -> None:
    """Give back the pages of a mapped array; what was written stays in the file's cache."""
    if not isinstance(values, np.memmap) or getattr(values, "mode", None) not in _SHARED_MODES:
        return
    mapping = getattr(values, "_mmap", None)
    if mapping is not None:
        mapping.madvise(mmap.MADV_DONTNEED)


def reserve_room(values: Any) -> None:
    """Fill the holes of the file that an array is written to; RunError where it has no room."""
    mapped = values
    while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    mapping, name = getattr(mapped, "_mmap", None), getattr(mapped, "filename", None)
    if mapping is None or name is None or mapped.mode not in {"r+", "w+"}:
        return
    first = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    try:
        with open(name, "r+b") as file:  # noqa: PTH123
            # It may be another one by now.
            if os.fstat(file.fileno()).st_size >= first + len(mapping):
                os.posix_fallocate(file.fileno(), first, len(mapping))
    except OSError as error:
        if error.errno in _FULL:
            raise RunError(
                f"{name} has no room for the result: {error.strerror}; free space there"
            ) from None
