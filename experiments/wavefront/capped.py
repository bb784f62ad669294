# SPDX-License-Identifier: BSD-3-Clause
"""Capped: a program with less memory, or a slower disk, than the machine has.

Uses control groups, as root.  A cap makes out-of-core real on a machine with plenty of memory,
since the page cache counts too; a throttle makes the volume of transfers visible where the rate of
the disk fluctuates.  Where the machine does not allow it, the program runs uncapped.  Then a quick
run says so, and a whole run fails, as its targets are for capped programs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import RunError

GROUPS = Path("/sys/fs/cgroup")
NOTES = {
    "memory": "memory was not capped, so that the page cache may have held all matrices",
    "the disk": "the disk was not capped, so that its own rate counts",
}
REMEDY = (
    "run it as root where control groups have the controllers memory and io: with version 2, "
    f"echo +memory +io > {GROUPS}/cgroup.subtree_control"
)


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
    cap: Cap = Cap()

    @property
    def lacking(self) -> list[str]:
        """Return what is not capped though it should be."""
        wanted = {
            "memory": self.cap.memory_bytes > 0 and not self.memory,
            "the disk": self.cap.disk_bytes_per_s > 0 and not self.disk,
        }
        return [what for what, lacks in wanted.items() if lacks]

    @property
    def notes(self) -> list[str]:
        """Return a sentence for each cap that is not in force."""
        return [NOTES[what] for what in self.lacking]

    def require(self) -> None:
        """Raise RunError where a cap is not in force."""
        if self.lacking:
            what = " and ".join(self.lacking)
            raise RunError(f"{what} cannot be capped here, and the targets need it; {REMEDY}")

    def joiner(self) -> Callable[[], None]:
        """Return the function that puts the calling process into the groups."""
        paths = [group / "cgroup.procs" for group in self.groups]

        def join() -> None:
            for path in paths:
                _write(path, str(os.getpid()))

        return join


@contextlib.contextmanager
def capped(cap: Cap, folder: Path) -> Iterator[Applied]:
    """Make the groups for `cap`, on the disk of `folder`, and remove them afterwards."""
    applied = Applied(cap=cap)
    try:
        if (GROUPS / "cgroup.controllers").is_file():
            _apply_in_one(applied, folder)
        else:
            _apply_by_controller(applied, folder)
        yield applied
    finally:
        for group in applied.groups:
            with contextlib.suppress(OSError):
                group.rmdir()


def _apply_by_controller(applied: Applied, folder: Path) -> None:
    """Make a group for each cap: with version 1 each controller has groups of its own."""
    cap = applied.cap
    if cap.memory_bytes:
        group = _group(GROUPS / "memory", applied)
        applied.memory = _set(group, {"memory.limit_in_bytes": str(cap.memory_bytes)})
    if cap.disk_bytes_per_s:
        rate = f"{_disk_of(folder)} {cap.disk_bytes_per_s}"
        group = _group(GROUPS / "blkio", applied)
        applied.disk = _set(
            group, {f"blkio.throttle.{way}_bps_device": rate for way in ("read", "write")}
        )


def _apply_in_one(applied: Applied, folder: Path) -> None:
    """Make one group with all caps: with version 2 a process is in one group."""
    cap = applied.cap
    group = _group(GROUPS, applied)
    if cap.memory_bytes:
        applied.memory = _set(group, {"memory.max": str(cap.memory_bytes)})
    if cap.disk_bytes_per_s:
        rate = cap.disk_bytes_per_s
        applied.disk = _set(group, {"io.max": f"{_disk_of(folder)} rbps={rate} wbps={rate}"})


def _group(controller: Path, applied: Applied) -> Path | None:
    """Make a group, which is removed with the others; None where that is not allowed."""
    group = controller / f"lanewise-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        return None
    applied.groups.append(group)
    return group


def _set(group: Path | None, settings: dict[str, str]) -> bool:
    """Write settings of a group; say whether all of them hold."""
    if group is None:
        return False
    try:
        for key, value in settings.items():
            _write(group / key, value)
    except OSError:
        return False
    return True


def _write(path: Path, value: str) -> None:
    """Write to a file that is there, as the kernel makes those of a group."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _disk_of(folder: Path) -> str:
    device = folder.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"
