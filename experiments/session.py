# SPDX-License-Identifier: BSD-3-Clause
"""Session: a program with all that it starts, ended however the experiment is ended.

A program that is killed cannot end what it started itself: a launcher leaves its ranks, and
`lanewise` a launcher, as that has a session of its own.  So a program is first asked to end and has
time for that, and what is left of its session is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from lanewise.errors import RunError
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.run import end

# A testbed that is asked to end takes down its hosts.
LEAVING_S = 20.0
NONE: Mapping[str, str] = MappingProxyType({})

Stream = int | IO[str] | None


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status, and what it wrote to either stream."""

    status: int
    output: str
    complaints: str


@contextmanager
def in_session(
    line: Sequence[str],
    variables: Mapping[str, str] = NONE,
    *,
    folder: Path | None = None,
    output: Stream = None,
    complaints: Stream = None,
) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a session of its own, with `variables` added, and leave nothing of it.

    Without `output` and `complaints`, its streams are those of this process.  Raises RunError where
    it cannot be started.
    """
    with deferred_interrupts() as release:
        try:
            process = subprocess.Popen(
                line, env={**os.environ, **variables}, cwd=folder, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=output, stderr=complaints, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise RunError(f"{line[0]} could not be started: {error.strerror}") from None
        try:
            release()
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(LEAVING_S)
    finally:
        end(process)


def run_in_session(
    line: Sequence[str],
    variables: Mapping[str, str] = NONE,
    *,
    folder: Path | None = None,
    limit_s: float | None = None,
) -> Ended:
    """Run a program to its end, with `variables` added; RunError where it takes too long."""
    with in_session(
        line, variables, folder=folder, output=subprocess.PIPE, complaints=subprocess.PIPE
    ) as process:
        try:
            output, complaints = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise RunError(
                f"{Path(line[0]).name} had not ended after {limit_s:g} s and was stopped"
            ) from None
    return Ended(process.returncode, output, complaints)
