# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages for programs that map them: reserved while they run, and given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COUNT_FILE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@contextmanager
def reserved(pages: int, count_file: Path = COUNT_FILE) -> Iterator[int]:
    """Give how many huge pages of 2 MiB the host has, with `pages` more where it lets us.

    The kernel may find less memory in one piece than it was asked for. Without root, or without
    such pages, the host stays as it is. Others may reserve pages, and give them back, meanwhile.
    """
    before = _count(count_file)
    _set_count(count_file, before + pages)
    granted = max(_count(count_file) - before, 0)
    try:
        yield before + granted
    finally:
        _set_count(count_file, max(_count(count_file) - granted, 0))


def _count(count_file: Path) -> int:
    return int(count_file.read_text()) if count_file.is_file() else 0


def _set_count(count_file: Path, pages: int) -> None:
    try:
        if count_file.is_file():
            count_file.write_text(f"{pages}\n")
    except OSError:
        return
