# SPDX-License-Identifier: BSD-3-Clause
"""Plan a measurement: the native program checks its own arguments before anything is launched.

There is one parser of sizes, names and limits, the native one; `--plan` makes it say what it would
measure, without MPI_Init.  Under SMPI a program only runs inside smpirun, so one rank plans there.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lanewise.errors import RunError
from lanewise.launch.job import Job, Launcher
from lanewise.launch.native import build_command
from lanewise.launch.run_native import refusal, write_files
from lanewise.launch.words import refuse_unusable

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Plan:
    """What will be measured: `points` is the number known beforehand (adaptive sizes add more).

    `sizes_bytes_of` has the sizes of each operation, where the program says them.
    """

    points: int
    operations: tuple[str, ...]
    sizes_bytes: tuple[int, ...]
    sizes_bytes_of: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def plan(launcher: Launcher, job: Job) -> Plan:
    """Check the arguments of `job` and return what it would measure.

    Raises RequestError with the native program's sentence for arguments that it refuses.
    """
    output = ask(launcher, job, "--plan")
    for text in reversed(output.splitlines()):
        if text.startswith("{"):
            values = json.loads(text)
            return Plan(
                points=int(values["points"]),
                operations=tuple(values["operations"]),
                sizes_bytes=tuple(values["sizes_bytes"]),
                sizes_bytes_of={
                    name: tuple(sizes) for name, sizes in values.get("sizes_bytes_of", {}).items()
                },
            )
    raise RunError(
        f"{job.program[0]} --plan printed no plan; if it is of another version, build it again: "
        f"{build_command()}"
    )


def ask(launcher: Launcher, job: Job, question: str) -> str:
    """Run the program of `job` with `question` added, outside of MPI, and return what it prints."""
    asking = replace(job, program=(*job.program, question), ranks=1)
    line = launcher.command(asking) if launcher.simulates else list(asking.program)
    refuse_unusable(line)
    if launcher.simulates:
        write_files(launcher, asking)
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL, env={**os.environ, **launcher.environment(asking)},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(
            f"{job.program[0]} could not be run: {error}; build it again: {build_command()}"
        ) from None
    if done.returncode != 0:
        raise refusal(job.program[0], done.returncode, done.stderr + done.stdout)
    return done.stdout
