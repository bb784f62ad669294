# SPDX-License-Identifier: BSD-3-Clause
"""A power cut, as the tests simulate it, loses what was not synced and nothing else."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from power_cut import (
    FILE_CREATED,
    SYNC_BEGAN,
    SYNC_ENDED,
    WRITE_BEGAN,
    WRITE_ENDED,
    Disk,
    Record,
    Recording,
    Survival,
    contents_of,
    everything,
    lost,
)

# What every program here begins with.
CALLS = """
import os
def made(name, content):
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(file, content)
    return file
def synced(name):
    file = os.open(name, os.O_RDONLY)
    os.fsync(file)
    os.close(file)
"""

Cut = Callable[[str], Disk]


@pytest.fixture
def cut_behind(recorder: Path, tmp_path: Path) -> Cut:
    """Give the function that runs lines of Python in a folder and takes the disk behind them."""
    root = tmp_path / "disk"
    root.mkdir()
    (root / "old").write_bytes(b"before")

    def cut(lines: str) -> Disk:
        recording = Recording(root, recorder, tmp_path / "log")
        program = [sys.executable, "-c", CALLS + lines]
        subprocess.run(program, cwd=root, env=recording.environment(), check=True)
        _, disk = next(recording.disks([len(recording.records())]))
        assert dict(disk.after_cut(everything, random.Random(0))) == contents_of(root)
        return disk

    return cut


def left(disk: Disk) -> dict[str, bytes | None]:
    """Return what a cut leaves at least."""
    return dict(disk.after_cut(lost, random.Random(0)))


LOST = {
    "bytes of an old file": ("os.write(os.open('old', os.O_WRONLY), b'after')", b"before"),
    "the size of an old file": ("made('old', b'')", b"before"),
    "a removal": ("os.remove('old')", b"before"),
    "a replacement whose bytes alone are synced": (
        "os.fsync(made('new', b'after')); os.rename('new', 'old')",
        b"before",
    ),
    "the bytes of a replacement whose name alone is synced": (
        "made('new', b'after'); os.rename('new', 'old'); synced('.')",
        b"",
    ),
}


@pytest.mark.parametrize(("lines", "content"), LOST.values(), ids=LOST.keys())
def test_what_is_not_synced_may_be_lost(cut_behind: Cut, lines: str, content: bytes) -> None:
    assert left(cut_behind(lines)) == {"old": content}


KEPT = {
    "bytes": ("os.fsync(made('old', b'after'))", {"old": b"after"}),
    "data alone": ("os.fdatasync(made('old', b'after'))", {"old": b"after"}),
    "a size": (
        "f = os.open('old', os.O_RDWR); os.posix_fallocate(f, 0, 8); os.fsync(f)",
        {"old": b"before\0\0"},
    ),
    "a truncation": ("f = os.open('old', os.O_RDWR); os.ftruncate(f, 3); os.fsync(f)",
                     {"old": b"bef"}),
    "a removal": ("os.remove('old'); synced('.')", {}),
    "a replacement": (
        "os.fsync(made('new', b'after')); os.rename('new', 'old'); synced('.')",
        {"old": b"after"},
    ),
    "a folder and what is in it": (
        "os.mkdir('a'); os.fsync(made('a/b', b'c')); synced('a'); synced('.')",
        {"old": b"before", "a": None, "a/b": b"c"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "contents"), KEPT.values(), ids=KEPT.keys())
def test_what_is_synced_is_kept(
    cut_behind: Cut, lines: str, contents: dict[str, bytes | None]
) -> None:
    assert left(cut_behind(lines)) == contents


def test_a_write_that_is_not_synced_may_be_torn_between_sectors(cut_behind: Cut) -> None:
    old, new = b"a" * 512, b"b" * 512
    disk = cut_behind(f"os.fsync(made('old', {2 * old})); f = os.open('old', os.O_RDWR);"
                      f"os.write(f, {2 * new})")  # fmt: skip
    chance = random.Random(0)

    found = {dict(disk.after_cut(Survival.draw, chance))["old"] for _ in range(100)}

    assert found == {old + old, old + new, new + old, new + new}


def test_a_sync_covers_only_writes_that_had_ended_when_it_began() -> None:
    disk = Disk(inode=1)
    disk.apply(Record(FILE_CREATED, 7, 0, 0, "file", b""))
    disk.apply(Record(SYNC_BEGAN, 1, 1, 0, "", b""))
    disk.apply(Record(SYNC_ENDED, 1, 1, 0, "", b""))
    for number, content in ((2, b"ended"), (3, b"under way")):
        disk.apply(Record(WRITE_BEGAN, 7, number, 0, "", content))
    disk.apply(Record(WRITE_ENDED, 7, 2, 5, "", b""))
    disk.apply(Record(SYNC_BEGAN, 7, 4, 0, "", b""))
    disk.apply(Record(WRITE_ENDED, 7, 3, 9, "", b""))
    assert left(disk) == {"file": b""}

    disk.apply(Record(SYNC_ENDED, 7, 4, 0, "", b""))

    assert left(disk) == {"file": b"ended"}
