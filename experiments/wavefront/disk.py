# SPDX-License-Identifier: BSD-3-Clause
"""Disk: how fast fio moves bytes as a sweep does, six read for one written.

How many requests under way are best differs from disk to disk and from hour to hour, so fio tries
several numbers in turn, with buffers known to the kernel beforehand and without, and from one job
and two.  The requests have the size of a strip, or a mebibyte.  These trials are short.  In the way
that was best over all of them, and not in the best of each, which would be the luck of a moment,
fio then moves bytes for as long as the sweep that is compared with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.wavefront import sweeps
from lanewise.errors import RunError
from lanewise.launch.packages import not_found

FILE_BYTES = 1 << 30
MEBIBYTE = 1 << 20

Rates = dict[str, float]
"""Bytes per second by way."""


@dataclass(frozen=True)
class Way:
    """How fio asks: requests under way in all, and what differs from one job on plain buffers."""

    depth: int
    fixed_buffers: bool = False
    jobs: int = 1
    whole_mebibytes: bool = False

    @property
    def name(self) -> str:
        """Return a name such as `64 under way, fixed buffers`."""
        also = [
            *(["fixed buffers"] if self.fixed_buffers else []),
            *([f"{self.jobs} jobs"] if self.jobs > 1 else []),
            *(["1 MiB"] if self.whole_mebibytes else []),
        ]
        return ", ".join([f"{self.depth} under way", *also])

    def options(self, strip_bytes: int) -> list[str]:
        """Return what this section of the command line adds to the global one."""
        return [
            f"--name={self.name}", "--stonewall", "--group_reporting",
            f"--iodepth={self.depth // self.jobs}", f"--fixedbufs={int(self.fixed_buffers)}",
            f"--numjobs={self.jobs}", f"--size={FILE_BYTES // self.jobs}",
            f"--offset_increment={FILE_BYTES // self.jobs}",
            f"--bs={MEBIBYTE if self.whole_mebibytes else strip_bytes}",
        ]  # fmt: skip


WAYS = (
    *(Way(depth, fixed_buffers) for depth in (8, 32, 64) for fixed_buffers in (False, True)),
    Way(64, jobs=2),
    Way(64, whole_mebibytes=True),
    Way(64, fixed_buffers=True, whole_mebibytes=True),
)


@contextlib.contextmanager
def fio_file(folder: Path) -> Iterator[Path]:
    """Fill a file that `rates` works on, and remove it afterwards.  RunError without fio."""
    if shutil.which("fio") is None:
        raise RunError(f"{not_found('fio')}; the rate of the disk is measured with it")
    path = folder / "fio.data"
    line = ["fio", "--name=fill", f"--filename={path}", f"--size={FILE_BYTES}", "--rw=write",
            f"--bs={MEBIBYTE}", "--direct=1", "--ioengine=io_uring", "--iodepth=8"]  # fmt: skip
    try:
        sweeps.call(line)
        yield path
    finally:
        path.unlink(missing_ok=True)


def rates(path: Path, strip_bytes: int, each_ms: int) -> Rates:
    """Return the bytes per second of every way, each tried for `each_ms`."""
    return _moved(path, strip_bytes, each_ms, WAYS)


def rate(path: Path, strip_bytes: int, way_name: str, for_ms: int) -> float:
    """Return the bytes per second of one way over `for_ms`."""
    (way,) = (way for way in WAYS if way.name == way_name)
    return _moved(path, strip_bytes, for_ms, [way])[way_name]


def _moved(path: Path, strip_bytes: int, each_ms: int, ways: Sequence[Way]) -> Rates:
    line = [
        "fio", "--output-format=json", "--name=global", f"--filename={path}", "--rw=rw",
        "--rwmixread=86", "--direct=1", "--ioengine=io_uring", "--time_based",
        f"--runtime={each_ms}ms",
    ]  # fmt: skip
    for way in ways:
        line += way.options(strip_bytes)
    jobs = json.loads(sweeps.call(line))["jobs"]
    return {
        way.name: float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])
        for way, job in zip(ways, jobs, strict=True)
    }


def best_way(measured: list[Rates]) -> str:
    """Return the way whose median over the measurements is highest."""
    return max(measured[0], key=lambda way: statistics.median(rates[way] for rates in measured))
