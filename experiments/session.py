# SPDX-License-Identifier: BSD-3-Clause
"""Session: a program with all that it starts, ended however the experiment is ended.

A program that is killed cannot end what it started itself: a launcher leaves its ranks, and
`lanewise` a launcher, as that has a session of its own.  So a program is first asked to end and has
time for that, and what is left of its session is killed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from lanewise.errors import RunError
from lanewise.launch.run import started

# A testbed that is asked to end takes down its hosts.
TESTBED_GRACE_S = 20.0
NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status, and what it wrote to either stream."""

    status: int
    output: str
    complaints: str


def run_in_session(
    line: Sequence[str],
    variables: Mapping[str, str] = NONE,
    *,
    folder: Path | None = None,
    limit_s: float | None = None,
) -> Ended:
    """Run a program to its end, with `variables` added; RunError where it takes too long."""
    with started(line, variables, folder=folder, grace_s=TESTBED_GRACE_S) as process:
        try:
            output, complaints = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise RunError(
                f"{Path(line[0]).name} had not ended after {limit_s:g} s and was stopped"
            ) from None
    return Ended(process.returncode, output, complaints)
