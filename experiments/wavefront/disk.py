# SPDX-License-Identifier: BSD-3-Clause
"""Disk: how fast fio moves the bytes of a sweep.

How many requests under way are best differs from disk to disk and from hour to hour, so fio tries
several numbers in turn, with buffers known to the kernel beforehand and without.  The requests have
the size of a strip, or a mebibyte.  Buffers in huge pages are tried where the host lets itself
reserve some: a sweep has its strips in such pages, and a virtual disk, which takes each request
page by page, can be twice as fast with them.  These trials are short.  In the way that was best
over all of them, and not in the best of each, which would be the luck of a moment, fio then moves
as many bytes as the sweep that is compared with it.

Where a file lies on a virtual disk can make it a third faster or slower than its neighbour.  So fio
replays passes over the files of the sweep itself, each write where the next generation goes, of
which the next pass leaves nothing.
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

WRITE_BEHIND = 2  # strips, as a sweep that waits for the row block below
MEBIBYTE = 1 << 20
HUGE_PAGES = 48  # of 2 MiB: 64 requests of a mebibyte or a strip, and some to spare

Rates = dict[str, float]
"""Bytes per second by way."""


@dataclass(frozen=True)
class Way:
    """How fio asks: requests under way in all, and what differs from plain buffers."""

    depth: int
    fixed_buffers: bool = False
    whole_mebibytes: bool = False
    huge_pages: bool = False

    @property
    def name(self) -> str:
        """Return a name such as `64 under way, fixed buffers`."""
        also = [
            *(["huge pages"] if self.huge_pages else []),
            *(["fixed buffers"] if self.fixed_buffers else []),
            *(["1 MiB"] if self.whole_mebibytes else []),
        ]
        return ", ".join([f"{self.depth} under way", *also])

    def job(self, log: Path) -> list[str]:
        """Return the job of this way, which replays `log`."""
        return [
            f"--name={self.name}", "--stonewall", f"--read_iolog={log}",
            f"--iodepth={self.depth}", f"--fixedbufs={int(self.fixed_buffers)}",
            f"--iomem={'shmhuge' if self.huge_pages else 'malloc'}",
        ]  # fmt: skip


DEPTHS = (8, 32, 64)
ON_PAGES = (
    *(Way(depth, fixed_buffers) for depth in DEPTHS for fixed_buffers in (False, True)),
    Way(64, whole_mebibytes=True),
    Way(64, fixed_buffers=True, whole_mebibytes=True),
)
ON_HUGE_PAGES = (
    *(Way(d, fixed, huge_pages=True) for d in DEPTHS for fixed in (False, True)),
    *(Way(depth, whole_mebibytes=True, huge_pages=True) for depth in DEPTHS),
)


@dataclass(frozen=True)
class Disk:
    """A store that fio works on, the folder of its logs, and the ways that it can ask here."""

    store: Path
    folder: Path
    passes: int
    ways: tuple[Way, ...]

    def rates(self, each_ms: int) -> Rates:
        """Return the bytes per second of every way, each tried for `each_ms`."""
        return self._moved(self.ways, f"--runtime={each_ms}ms")

    def rate(self, way_name: str) -> float:
        """Return the bytes per second of one way over all passes."""
        (way,) = (way for way in self.ways if way.name == way_name)
        return self._moved([way])[way_name]

    def _moved(self, ways: Sequence[Way], *limits: str) -> Rates:
        files = sweeps.files_of(self.store)
        strips, mebibytes = self.folder / "strips.iolog", self.folder / "mebibytes.iolog"
        for log, bytes_each in ((strips, sweeps.strip_bytes(self.store)), (mebibytes, MEBIBYTE)):
            log.write_text(passes_over(files, bytes_each, self.passes), encoding="utf-8")
        line = [
            "fio", "--output-format=json", "--name=global", "--direct=1", "--ioengine=io_uring",
            "--replay_no_stall=1", "--allow_file_create=0", *limits,
        ]  # fmt: skip
        for way in ways:
            line += way.job(mebibytes if way.whole_mebibytes else strips)
        jobs = json.loads(sweeps.call(line))["jobs"]
        return {
            way.name: float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])
            for way, job in zip(ways, jobs, strict=True)
        }


def passes_over(files: sweeps.Files, request_bytes: int, passes: int) -> str:
    """Return a log, as fio replays them, of passes that all write the next generation."""
    everyone = [*files.current, files.next]
    requests = files.current[0].stat().st_size // request_bytes
    lines = ["fio version 2 iolog"]
    lines += [f"{file} {what}" for what in ("add", "open") for file in everyone]
    for _ in range(passes):
        for number in range(requests + WRITE_BEHIND):
            if number < requests:
                lines += [
                    f"{file} read {number * request_bytes} {request_bytes}"
                    for file in files.current
                ]
            behind = number - WRITE_BEHIND
            if behind >= 0:
                lines.append(f"{files.next} write {behind * request_bytes} {request_bytes}")
    lines += [f"{file} close" for file in everyone]
    return "\n".join([*lines, ""])


@contextlib.contextmanager
def prepared(store: Path, folder: Path, passes: int) -> Iterator[Disk]:
    """Reserve huge pages for fio, which replays passes over a store that was swept before.

    Its logs are in `folder`.  RunError without fio.
    """
    if shutil.which("fio") is None:
        raise RunError(f"{not_found('fio')}; the rate of the disk is measured with it")
    with reserved(HUGE_PAGES) as pages:
        yield Disk(store, folder, passes, ways_on(pages))


def ways_on(huge_pages: int) -> tuple[Way, ...]:
    """Return the ways that fio can ask where there are so many huge pages."""
    return (*ON_PAGES, *ON_HUGE_PAGES) if huge_pages >= HUGE_PAGES else ON_PAGES


def best_way(measured: list[Rates]) -> str:
    """Return the way whose median over the measurements is highest."""
    return max(measured[0], key=lambda way: statistics.median(rates[way] for rates in measured))
