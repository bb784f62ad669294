# SPDX-License-Identifier: BSD-3-Clause
"""Disk: how fast fio moves bytes as a sweep does, six read for one written.

How many requests under way are best differs from disk to disk and from hour to hour, so fio tries
several numbers in turn, with buffers known to the kernel beforehand and without, and from one job
and two.  The requests have the size of a strip, or a mebibyte.  Buffers in huge pages are tried
where the host lets itself reserve some: a sweep has its strips in such pages, and a virtual disk,
which takes each request page by page, can be twice as fast with them.  These trials are short.  In
the way that was best over all of them, and not in the best of each, which would be the luck of a
moment, fio then moves bytes for as long as the sweep that is compared with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.huge_pages import reserved
from experiments.wavefront import sweeps
from lanewise.errors import RunError
from lanewise.launch.packages import not_found

FILE_BYTES = 1 << 30
MEBIBYTE = 1 << 20
HUGE_PAGES = 48  # of 2 MiB: 64 requests of a mebibyte or a strip, and some to spare

Rates = dict[str, float]
"""Bytes per second by way."""


@dataclass(frozen=True)
class Way:
    """How fio asks: requests under way in all, and what differs from one job on plain buffers."""

    depth: int
    fixed_buffers: bool = False
    jobs: int = 1
    whole_mebibytes: bool = False
    huge_pages: bool = False

    @property
    def name(self) -> str:
        """Return a name such as `64 under way, fixed buffers`."""
        also = [
            *(["huge pages"] if self.huge_pages else []),
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
            f"--iomem={'shmhuge' if self.huge_pages else 'malloc'}",
        ]  # fmt: skip


DEPTHS = (8, 32, 64)
ON_PAGES = (
    *(Way(depth, fixed_buffers) for depth in DEPTHS for fixed_buffers in (False, True)),
    Way(64, jobs=2),
    Way(64, whole_mebibytes=True),
    Way(64, fixed_buffers=True, whole_mebibytes=True),
)
ON_HUGE_PAGES = (
    *(Way(d, fixed, huge_pages=True) for d in DEPTHS for fixed in (False, True)),
    *(Way(depth, whole_mebibytes=True, huge_pages=True) for depth in DEPTHS),
)


@dataclass(frozen=True)
class Disk:
    """A file that fio works on, and the ways that it can ask here."""

    path: Path
    strip_bytes: int
    ways: tuple[Way, ...]

    def rates(self, each_ms: int) -> Rates:
        """Return the bytes per second of every way, each tried for `each_ms`."""
        return self._moved(each_ms, self.ways)

    def rate(self, way_name: str, for_ms: int) -> float:
        """Return the bytes per second of one way over `for_ms`."""
        (way,) = (way for way in self.ways if way.name == way_name)
        return self._moved(for_ms, [way])[way_name]

    def _moved(self, each_ms: int, ways: Sequence[Way]) -> Rates:
        line = [
            "fio", "--output-format=json", "--name=global", f"--filename={self.path}", "--rw=rw",
            "--rwmixread=86", "--direct=1", "--ioengine=io_uring", "--time_based",
            f"--runtime={each_ms}ms",
        ]  # fmt: skip
        for way in ways:
            line += way.options(self.strip_bytes)
        jobs = json.loads(sweeps.call(line))["jobs"]
        return {
            way.name: float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])
            for way, job in zip(ways, jobs, strict=True)
        }


@contextlib.contextmanager
def prepared(folder: Path, strip_bytes: int) -> Iterator[Disk]:
    """Fill a file for fio, reserve huge pages, and clear up afterwards.  RunError without fio."""
    if shutil.which("fio") is None:
        raise RunError(f"{not_found('fio')}; the rate of the disk is measured with it")
    path = folder / "fio.data"
    line = ["fio", "--name=fill", f"--filename={path}", f"--size={FILE_BYTES}", "--rw=write",
            f"--bs={MEBIBYTE}", "--direct=1", "--ioengine=io_uring", "--iodepth=8"]  # fmt: skip
    try:
        sweeps.call(line)
        with reserved(HUGE_PAGES) as pages:
            yield Disk(path, strip_bytes, ways_on(pages))
    finally:
        path.unlink(missing_ok=True)


def ways_on(huge_pages: int) -> tuple[Way, ...]:
    """Return the ways that fio can ask where there are so many huge pages."""
    return (*ON_PAGES, *ON_HUGE_PAGES) if huge_pages >= HUGE_PAGES else ON_PAGES


def best_way(measured: list[Rates]) -> str:
    """Return the way whose median over the measurements is highest."""
    return max(measured[0], key=lambda way: statistics.median(rates[way] for rates in measured))
