# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: stores and runs of Livermore loop 23, for all wavefront experiments."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.native import find_program

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
    workspace.say(f"making six matrices of {side} x {side}")
    sides = ("--rows", str(side), "--cols", str(side))
    with made(workspace.folder / "store", *sides, *options) as path:
        yield path


@contextlib.contextmanager
def made(path: Path, *options: str) -> Iterator[Path]:
    """Make a store with demo contents by the command's `options`, and remove it afterwards."""
    shutil.rmtree(path, ignore_errors=True)
    try:
        call([native(PROGRAM), "create", str(path), *options])
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def iterate(path: Path, iterations: int, *options: str, join: Join | None = None) -> dict[str, Any]:
    """Run iterations over a store and return the closing event.

    `user_s` is added to it: the seconds from the start of the program to its end.
    """
    line = [native(PROGRAM), "run", str(path), "--iterations", str(iterations), "--json", *options]
    began_s = time.monotonic()
    printed = call(line, join)
    user_s = time.monotonic() - began_s
    ended = json.loads(printed.splitlines()[-1])
    if not isinstance(ended, dict) or ended.get("event") != "end":
        raise RunError(f"{PROGRAM} did not come to its end")
    return {**ended, "user_s": user_s}


@dataclass(frozen=True)
class Files:
    """The files of a store: what a pass reads, and where it writes the data."""

    current: tuple[Path, ...]
    next: Path


def files_of(path: Path) -> Files:
    """Return the files of a store with one data matrix, of the generations of now."""
    matrices = _manifest(path)["matrices"]
    data = matrices[0]
    return Files(
        tuple(path / f"{one['name']}.{one['generation']}.0" for one in matrices),
        path / f"{data['name']}.{'b' if data['generation'] == 'a' else 'a'}.0",
    )


def strip_bytes(path: Path) -> int:
    """Return the bytes of a strip of the first matrix, as it lies on the disk."""
    manifest = _manifest(path)
    strips = -(-int(manifest["rows"]) // int(manifest["strip_rows"]))
    return files_of(path).current[0].stat().st_size // strips


def _manifest(path: Path) -> dict[str, Any]:
    found = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def sums_of(path: Path) -> str:
    """Return the checksum of the checksums of the data: equal for equal bits."""
    return str(_manifest(path)["matrices"][0]["sums"])


def rates_in_memory(side: int, waves: int) -> dict[str, Any]:
    """Return the rates of the kernel in memory: the naive loop and the skewed one."""
    printed = call([native("lanewise-wavefront-rates"), str(side), str(waves)])
    found = json.loads(printed)
    assert isinstance(found, dict)
    return found
