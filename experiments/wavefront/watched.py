# SPDX-License-Identifier: BSD-3-Clause
"""Watched: a program, its children included, and the most memory that each of them had.

The kernel keeps the high-water mark of a program from its start on (VmHWM), so looking now and then
misses only what a program takes in its last milliseconds.  What getrusage says of a child is no
use: after a fork it includes the memory of the parent.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.session import TESTBED_GRACE_S
from lanewise.errors import RunError
from lanewise.launch.run import started

_EVERY_S = 0.005
_HIGH_WATER = re.compile(r"VmHWM:\s*(\d+)")


@dataclass(frozen=True)
class Watched:
    """What a program printed, and the peak in bytes of each process by the path of its program."""

    printed: str
    peaks: list[tuple[str, int]]

    def peaks_of(self, program: str) -> list[int]:
        """Return the peaks of the processes that ran the program of this name."""
        return [peak for path, peak in self.peaks if Path(path).name == program]


def watch(line: Sequence[str], variables: Mapping[str, str] | None = None) -> Watched:
    """Run a program to its end; RunError with its last line where it fails."""
    peaks: dict[tuple[int, str], int] = {}
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as complained:
        with started(
            line, variables or {}, streams=(printed, complained), grace_s=TESTBED_GRACE_S
        ) as program:
            while program.poll() is None:
                for process in _family(program.pid):
                    _look_at(process, peaks)
                time.sleep(_EVERY_S)
        for file in (printed, complained):
            file.seek(0)
        if program.returncode != 0:
            last = (complained.read().strip().splitlines() or ["no word"])[-1]
            raise RunError(f"{Path(line[0]).name} ended with status {program.returncode}: {last}")
        return Watched(printed.read(), [(path, peak) for (_, path), peak in peaks.items()])


def _look_at(process: int, peaks: dict[tuple[int, str], int]) -> None:
    with contextlib.suppress(OSError):
        folder = Path(f"/proc/{process}")
        path = str((folder / "exe").readlink())
        if path == os.path.realpath(sys.executable) and _is_this_program(folder):
            return
        found = _HIGH_WATER.search((folder / "status").read_text(encoding="ascii"))
        if found:
            key = (process, path)
            peaks[key] = max(peaks.get(key, 0), 1024 * int(found[1]))


def _is_this_program(folder: Path) -> bool:
    # A child that has not begun its own program yet still has the memory of this one.
    return (folder / "cmdline").read_bytes() == Path("/proc/self/cmdline").read_bytes()


def _family(process: int) -> list[int]:
    """Return the process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit():
                # The name of the program is in parentheses and may hold blanks.
                after = (folder / "stat").read_text(encoding="utf-8").rpartition(") ")[2]
                children.setdefault(int(after.split()[1]), []).append(int(folder.name))
    members = [process]
    for member in members:
        members += children.get(member, [])
    return members
