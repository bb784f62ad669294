# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure lanes`: what lanes between sites carry together, into a platform.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from lanewise.cli import measure as launching
from lanewise.cli.numbers import positive_count
from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.machine import core_count
from lanewise.launch.plan import sentence_in, write_files
from lanewise.launch.run import run
from lanewise.results.quantity import time_text

PROGRAM = "lanewise-lane-rates"


def measure_lanes(choice: Choice, values: Mapping[str, Any], folder: Path) -> None:
    """Measure b(P) between each two sites, show it, and add it to the output where there is one."""
    ranks = positive_count("-n", values["ranks"] or str(max(2, core_count())))
    output = values["output"]
    if output is not None and not os.access(Path(output).parent, os.W_OK):
        raise RequestError(f"{output} cannot be written; name another")
    words = [] if output is None else ["-o", str(output)]
    job = launching.job_running(choice, values, folder, (PROGRAM, *words), ranks)
    if values["print_command"]:
        launching.show_command(choice, job)
        return
    require_launcher(choice)
    for line in table(platform_from(choice, job)):
        typer.echo(line)


def platform_from(choice: Choice, job: Job) -> dict[str, Any]:
    """Launch the program and return the platform that it prints."""
    write_files(choice.launcher, job)
    outcome = run(choice.launcher.command(job), choice.launcher.environment(job), lambda _: None)
    told = [text for text in outcome.output if text.startswith("{")]
    if outcome.status == 0 and told:
        return dict(json.loads(told[-1]))
    sentence = sentence_in(list(outcome.output))
    if outcome.status == 2 and sentence:
        raise RequestError(sentence)
    raise RunError(sentence or f"{PROGRAM} ended with status {outcome.status}")


def table(platform: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each site, and one for each direction between two."""
    for lan in platform.get("lans", []):
        rate, latency = lan["bandwidth_Bps"] / 1e6, time_text(lan["latency_s"])
        yield f"{lan['site']:<12}{latency:>10}  {rate:.1f} MB/s"
    for curve in platform.get("lanes", []):
        name = f"{curve['from']} -> {curve['to']}"
        rates = ", ".join(f"{rate / 1e6:.1f}" for rate in curve["bandwidth_Bps"])
        last = len(curve["bandwidth_Bps"])
        yield f"{name:<12}{time_text(curve['latency_s']):>10}  {rates} MB/s on 1 to {last} lanes"
