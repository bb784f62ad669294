# SPDX-License-Identifier: BSD-3-Clause
"""Mapped: arrays whose rows are in a file (numpy.memmap) and move without staying in memory.

Pages of a file that a program has touched count as its memory until the kernel needs them for
something else.  What has moved is not needed again, so its pages are given back at once.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

# Of a private mapping (mode "c") the pages that were written are nowhere else.
_SHARED_MODES = ("r", "r+", "w+")


def give_pages_back(values: Any) -> None:
    """Give back the pages of a mapped array; what was written stays in the file's cache."""
    if not isinstance(values, np.memmap) or getattr(values, "mode", None) not in _SHARED_MODES:
        return
    mapping = getattr(values, "_mmap", None)
    if mapping is not None:
        mapping.madvise(mmap.MADV_DONTNEED)
