# SPDX-License-Identifier: BSD-3-Clause
"""Capped: a program with less memory, or a slower disk, than the machine has.

Uses control groups of version 1, as root.  A cap makes out-of-core real on a machine with plenty of
memory, since the page cache counts too; a throttle makes the volume of transfers visible where the
rate of the disk fluctuates.  Where the machine does not allow it, the program runs uncapped, and
the experiment says so.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Cap:
    """What a program may use; 0 means no limit."""

    memory_bytes: int = 0
    disk_bytes_per_s: int = 0


@dataclass
class Applied:
    """The groups that a program joins before it starts, and which caps are in force."""

    groups: list[Path] = field(default_factory=list)
    memory: bool = False
    disk: bool = False

    def joiner(self) -> Callable[[], None]:
        """Return the function that puts the calling process into the groups."""
        paths = [str(group / "cgroup.procs") for group in self.groups]

        def join() -> None:
            for path in paths:
                descriptor = os.open(path, os.O_WRONLY)
                os.write(descriptor, str(os.getpid()).encode())
                os.close(descriptor)

        return join


@contextlib.contextmanager
def capped(cap: Cap, folder: Path) -> Iterator[Applied]:
    """Make the groups for `cap`, on the disk of `folder`, and remove them afterwards."""
    applied = Applied()
    name = f"lanewise-{os.getpid()}"
    try:
        if cap.memory_bytes:
            group = _group("memory", name, {"memory.limit_in_bytes": str(cap.memory_bytes)})
            applied.memory = group is not None
            applied.groups += [group] if group else []
        if cap.disk_bytes_per_s:
            rate = f"{_disk_of(folder)} {cap.disk_bytes_per_s}"
            rules = {f"blkio.throttle.{way}_bps_device": rate for way in ("read", "write")}
            group = _group("blkio", name, rules)
            applied.disk = group is not None
            applied.groups += [group] if group else []
        yield applied
    finally:
        for group in applied.groups:
            with contextlib.suppress(OSError):
                group.rmdir()


def _group(controller: str, name: str, settings: dict[str, str]) -> Path | None:
    group = GROUPS / controller / name
    try:
        group.mkdir()
        for key, value in settings.items():
            (group / key).write_text(value)
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        return None
    return group


def _disk_of(folder: Path) -> str:
    device = folder.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"
