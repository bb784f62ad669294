# SPDX-License-Identifier: BSD-3-Clause
"""Several launches of one measurement, all of which write one file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lanewise.errors import RequestError
from lanewise.launch.job import Job, Launcher

LAUNCHES = 5
# What has one launch unless more are asked for: it checks a clock, or what one launch finds
# decides what the next would measure.
ALONE = ("clock", "polling", "post-work-wait")


def launches_of(
    launcher: Launcher, operations: Iterable[str], asked: int | None, *, adaptive: bool
) -> int:
    """Return how many times to launch the ranks; RequestError where several make no sense."""
    alone = next((name for name in operations if name in ALONE), "")
    single = alone or ("--adaptive" if adaptive else "")
    if asked is None:
        return 1 if single or launcher.simulates else LAUNCHES
    if single and asked > 1:
        raise RequestError(f"{single} is measured in one launch; leave out --launches {asked}")
    return asked


def launch_job(job: Job, launch: int, launches: int, *, gone_on: bool) -> Job:
    """Return the job of one launch, from 1; `gone_on` tells that it goes on with a file."""
    arguments = [f"--launch={launch}", f"--launches={launches}"]
    if gone_on:
        arguments.append("--resume")
    return replace(job, program=(*job.program, *arguments))
