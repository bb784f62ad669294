# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise doctor`: what this machine offers a measurement, what is missing, and what gets it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer

from lanewise.cli.terminal import columns_shown, folded
from lanewise.launch.examine import Examination, LauncherFound, examine
from lanewise.results.table import UNLIMITED

HOST_RUNS_SHOWN = 8


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to `app`."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """$ lanewise doctor

    Show what can be measured here, and what disturbs it.

    Shows the launchers with their programs and native builds, cores and binding, frequency
    governor, clock source, disk and ports; inside a job what the batch system gave it; and the
    command that installs what is missing.  Ends with status 1 if nothing can be launched.
    """
    found = examine(os.environ)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "usable": found.usable}, indent=2))
    else:
        typer.echo("\n".join(text_of(found, columns_shown())))
    if not found.usable:
        raise typer.Exit(1)


def text_of(found: Examination, columns: int = UNLIMITED) -> list[str]:
    """Return all lines that a person sees, in so many columns of text."""
    lines = ["Launchers"]
    for launcher in found.launchers:
        lines += launcher_lines(launcher, columns)
    lines += ["", "Machine", *named_lines(machine_rows(found), columns)]
    if found.allocation is not None or found.allocation_fault:
        lines += ["", "Allocation", *named_lines(allocation_rows(found), columns)]
    if found.ports:
        lines += ["", "Ports"]
        lines += [f"  {port.name:<12}{port.state:<10}{port.rate}" for port in found.ports]
    lines += ["", "Advice"] if found.advice else []
    for sentence in found.advice:
        lines += folded("  ", sentence, columns)
    verdict = ", ".join(launcher.name for launcher in found.launchers if launcher.usable)
    return [*lines, "", f"Ready to measure on: {verdict or 'nothing yet'}"]


def named_lines(rows: Sequence[tuple[str, str]], columns: int) -> list[str]:
    """Return the lines of texts with names before them."""
    return [line for name, text in rows for line in folded(f"  {name:<12}", text, columns)]


def launcher_lines(launcher: LauncherFound, columns: int) -> list[str]:
    """Return the lines of one launcher: what was found, and what gets the rest."""
    mark = "ok" if launcher.usable else "--"
    program = "cannot be used" if launcher.fault else "not installed"
    if launcher.executable:
        program = f"{launcher.executable}  {launcher.version}"
    native = f"native {launcher.native}" if launcher.native else "no native build"
    lines = folded(f"  {mark}  {launcher.name:<10}", f"{program}; {native}", columns)
    indent = f"      {'':<10}"
    if launcher.fault:
        lines += folded(indent, launcher.fault, columns)
    # A launcher that is there, and that has a fault, is not missing.
    label = "remedy" if launcher.fault and launcher.executable else "get it"
    for remedy in launcher.remedies:
        lines += folded(indent, f"{label}: {remedy}", columns)
    return lines


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
