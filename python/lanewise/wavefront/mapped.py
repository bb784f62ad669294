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


def _addresses(values: Any) -> tuple[int, int]:
    """Return the address of the first byte of an array, and that behind its last."""
    at = int(values.__array_interface__["data"][0])
    reaches = [(n - 1) * step for n, step in zip(values.shape, values.strides, strict=True)]
    behind = at + sum(reach for reach in reaches if reach > 0) + values.itemsize
    return at + sum(reach for reach in reaches if reach < 0), behind


def _fill_holes(file: int, begin: int, length: int) -> None:
    about = os.fstat(file)
    if about.st_size < begin + length:  # another file by now
        return
    # Some file systems keep what they gave before they found that there is no more.
    room = os.fstatvfs(file)
    if length - 512 * about.st_blocks > room.f_bavail * room.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.posix_fallocate(file, begin, length)


def reserve_room(values: Any) -> None:
    """Fill the holes of a file where an array is written to; RunError where it has no room."""
    mapped = values
    while isinstance(mapped, np.ndarray) and not isinstance(mapped, np.memmap):
        mapped = mapped.base
    mapping, name = getattr(mapped, "_mmap", None), getattr(mapped, "filename", None)
    if mapping is None or name is None or mapped.mode not in {"r+", "w+"}:
        return
    first = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    low, high = _addresses(values)
    begin = first + low - _addresses(np.frombuffer(mapping, np.uint8))[0]
    try:
        with open(name, "r+b") as file:  # noqa: PTH123
            _fill_holes(file.fileno(), begin, high - low)
    except OSError as error:
        if error.errno in _FULL:
            raise RunError(
                f"{name} has no room for the result: {error.strerror}; free space there"
            ) from None
