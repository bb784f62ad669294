# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: stores and runs of Livermore loop 23, for all wavefront experiments."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.native import find_program
from lanewise.launch.packages import not_found

PROGRAM = "lanewise-wavefront"
MATRICES = ("data", "zb", "zv", "zu", "zr", "zz")
BYTES_PER_CELL = 56  # of one pass: six matrices of doubles read, one written

Join = Callable[[], None]


def native(name: str) -> str:
    """Return the path of a native program; RunError where it is not built."""
    with failing_as_run():
        return str(find_program(name, os.environ))


def call(line: list[str], join: Join | None = None) -> str:
    """Run a program and return what it printed; RunError with its last line where it fails."""
    done = subprocess.run(line, capture_output=True, text=True, check=False, preexec_fn=join)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise RunError(f"{Path(line[0]).name}: {last}")
    return done.stdout


@contextlib.contextmanager
def store(workspace: Workspace, side: int, *options: str) -> Iterator[Path]:
    """Make a store of `side` x `side` with demo contents, and remove it afterwards."""
    path = workspace.folder / "store"
    shutil.rmtree(path, ignore_errors=True)
    workspace.say(f"making six matrices of {side} x {side}")
    try:
        sides = ["--rows", str(side), "--cols", str(side)]
        call([native(PROGRAM), "create", str(path), *sides, *options])
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def iterate(path: Path, iterations: int, *options: str, join: Join | None = None) -> dict[str, Any]:
    """Run iterations over a store and return the closing event."""
    line = [native(PROGRAM), "run", str(path), "--iterations", str(iterations), "--json", *options]
    ended = json.loads(call(line, join).splitlines()[-1])
    if not isinstance(ended, dict) or ended.get("event") != "end":
        raise RunError(f"{PROGRAM} did not come to its end")
    return ended


def sums_of(path: Path) -> str:
    """Return the checksum of the checksums of the data: equal for equal bits."""
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    return str(manifest["matrices"][0]["sums"])


def rates_in_memory(side: int, waves: int) -> dict[str, Any]:
    """Return the rates of the kernel in memory: the naive loop and the skewed one."""
    printed = call([native("lanewise-wavefront-rates"), str(side), str(waves)])
    found = json.loads(printed)
    assert isinstance(found, dict)
    return found


def disk_rate(folder: Path, seconds: int) -> float:
    """Return the bytes per second that fio moves, six read for one written.  RunError without fio.

    Direct requests of one mebibyte, eight in flight: the fastest known way.
    """
    if shutil.which("fio") is None:
        raise RunError(f"{not_found('fio')}; the rate of the disk is measured with it")
    path = folder / "fio.data"
    line = [
        "fio", "--name=mixed", f"--filename={path}", "--size=1G", "--rw=rw", "--rwmixread=86",
        "--bs=1M", "--direct=1", "--ioengine=io_uring", "--iodepth=8", "--time_based",
        f"--runtime={seconds}", "--output-format=json",
    ]  # fmt: skip
    try:
        job = json.loads(call(line))["jobs"][0]
    finally:
        path.unlink(missing_ok=True)
    return float(job["read"]["bw_bytes"] + job["write"]["bw_bytes"])
