# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise doctor`: what this machine offers a measurement, what is missing, and what gets it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer

from lanewise.launch.examine import Examination, LauncherFound, examine

HOST_RUNS_SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to `app`."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """$ lanewise doctor

    Examine this machine.

    Shows the launchers with their programs and native builds, cores and binding, frequency
    governor, clock source, disk and ports; inside a job what the batch system gave it; what is
    missing, and the command that installs it.
    Ends with status 1 where nothing can be launched.
    """
    found = examine(os.environ)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "usable": found.usable}, indent=2))
    else:
        typer.echo("\n".join(text_of(found)))
    if not found.usable:
        raise typer.Exit(1)


def text_of(found: Examination) -> list[str]:
    """Return all lines that a person sees."""
    lines = ["Launchers"]
    for launcher in found.launchers:
        lines += launcher_lines(launcher)
    lines += ["", "Machine", *(f"  {name:<12}{text}" for name, text in machine_rows(found))]
    if found.allocation is not None or found.allocation_fault:
        lines += ["", "Allocation"]
        lines += [f"  {name:<12}{text}" for name, text in allocation_rows(found)]
    if found.ports:
        lines += ["", "Ports"]
        lines += [f"  {port.name:<12}{port.state:<10}{port.rate}" for port in found.ports]
    lines += ["", "Advice", *(f"  {sentence}" for sentence in found.advice)] if found.advice else []
    verdict = ", ".join(launcher.name for launcher in found.launchers if launcher.usable)
    return [*lines, "", f"Ready to measure on: {verdict or 'nothing yet'}"]


def launcher_lines(launcher: LauncherFound) -> list[str]:
    """Return the lines of one launcher: what was found, and what gets the rest."""
    mark = "ok" if launcher.usable else "--"
    program = "cannot be used" if launcher.fault else "not installed"
    if launcher.executable:
        program = f"{launcher.executable}  {launcher.version}"
    native = f"native {launcher.native}" if launcher.native else "no native build"
    lines = [f"  {mark}  {launcher.name:<10}{program}; {native}"]
    if launcher.fault:
        lines.append(f"      {'':<10}{launcher.fault}")
    # A launcher that is there, and that has a fault, is not missing.
    label = "remedy" if launcher.fault and launcher.executable else "get it"
    return lines + [f"      {'':<10}{label}: {remedy}" for remedy in launcher.remedies]


def machine_rows(found: Examination) -> list[tuple[str, str]]:
    """Return what is known of the machine as name and text."""
    return [
        ("kernel", found.kernel),
        ("cores", f"{found.cores} cores, {found.cpus} hardware threads, may use {found.affinity}"),
        ("governor", ", ".join(found.governors) or "not shown by this kernel"),
        ("clock", found.clock_source),
        ("load", f"{found.load:.2f} runnable on average over the last minute"),
        (
            "disk",
            "; ".join(f"{path} {free / 1e9:.1f} GB free" for path, free in found.disks.items()),
        ),
    ]


def allocation_rows(found: Examination) -> list[tuple[str, str]]:
    """Return what is known of the job that this process runs in as name and text."""
    allocation = found.allocation
    if allocation is None:
        return [("not read", found.allocation_fault)]
    runs = [(slots, list(run)) for slots, run in groupby(allocation.hosts, lambda one: one.slots)]
    hosts = ", ".join(
        f"{run[0].name}{f' to {run[-1].name}' if len(run) > 1 else ''} ({slots} slots each)"
        for slots, run in runs[:HOST_RUNS_SHOWN]
    )
    more = f" and {len(runs) - HOST_RUNS_SHOWN} more groups" if runs[HOST_RUNS_SHOWN:] else ""
    return [
        ("job", allocation.title),
        ("hosts", f"{len(allocation.hosts)}: {hosts}{more}"),
        ("ranks", f"{allocation.ranks} without -n; {allocation.cores} cores in all"),
        ("launcher", found.allocation_launcher),
    ]
