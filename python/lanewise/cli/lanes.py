# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise measure lanes`: what lanes between sites carry together, into a platform.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from lanewise.cli import launching
from lanewise.cli.shared_options import given
from lanewise.errors import RequestError, RunError
from lanewise.launch.choose import Choice, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.native import build_command
from lanewise.launch.run_native import Conditions, require_success, run_native
from lanewise.results.quantity import time_text

PROGRAM = "lanewise-lane-rates"
# Parameters of `measure` that mean something here: how to launch, and where results go.
USED = frozenset({
    "operations", "ranks", "launcher", "transport", "host", "hostfile", "launcher_args",
    "smpi_rate", "smpi_latency", "smpi_speeds", "print_command", "quiet", "output", "as_json",
})  # fmt: skip


def refuse_unused(context: typer.Context) -> None:
    """Raise RequestError for an option that says nothing about lanes."""
    for name, option in given(context).items():
        if name not in USED:
            raise RequestError(f"{option} has no meaning for lanes; leave it out")


def measure_lanes(choice: Choice, values: Mapping[str, Any], folder: Path) -> None:
    """Measure b(P) between each two sites, show it, and add it to the output where there is one."""
    ranks = launching.rank_count(choice, values)
    output = values["output"]
    if output is not None and not os.access(Path(output).parent, os.W_OK):
        raise RequestError(f"{output} cannot be written; name another")
    words = [] if output is None else ["-o", str(output)]
    job = launching.job_running(choice, values, folder, (PROGRAM, *words), ranks)
    if values["print_command"]:
        launching.show_command(choice, job, values)
        return
    require_launcher(choice)
    launching.tell(job)
    platform = platform_from(choice, job, launching.conditions_of(values))
    typer.echo(json.dumps(platform) if values["as_json"] else "\n".join(table(platform)))


def platform_from(choice: Choice, job: Job, conditions: Conditions) -> dict[str, Any]:
    """Launch the program and return the platform that it prints."""
    outcome = run_native(choice, job, conditions=conditions)
    require_success(choice, outcome)
    printed = [text for text in outcome.output if text.startswith("{")]
    if not printed:
        raise RunError(
            f"{PROGRAM} printed no platform; if it is of another version, build it again: "
            f"{build_command()}"
        )
    return dict(json.loads(printed[-1]))


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
