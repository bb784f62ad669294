# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise doctor`: what this machine offers a measurement, what is missing, and what gets it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer

from lanewise.launch.examine import Examination, FabricFound, examine


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to `app`."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """$ lanewise doctor

    Examine this machine.

    Fabrics with their launchers and native programs, cores and binding, frequency governor, clock
    source, disk, ports; what is missing, and the command that gets it.  Ends
    with status 1 where nothing can be launched.
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
    lines = ["Fabrics"]
    for fabric in found.fabrics:
        lines += fabric_lines(fabric)
    lines += ["", "Machine", *(f"  {name:<12}{text}" for name, text in machine_rows(found))]
    if found.ports:
        lines += ["", "Ports"]
        lines += [f"  {port.name:<12}{port.state:<10}{port.rate}" for port in found.ports]
    lines += ["", "Advice", *(f"  {sentence}" for sentence in found.advice)] if found.advice else []
    verdict = ", ".join(fabric.name for fabric in found.fabrics if fabric.usable)
    return [*lines, "", f"Ready to measure on: {verdict or 'nothing yet'}"]


def fabric_lines(fabric: FabricFound) -> list[str]:
    """Return the lines of one fabric: what was found, and what gets the rest."""
    mark = "ok" if fabric.usable else "--"
    launcher = f"{fabric.launcher}  {fabric.version}" if fabric.launcher else "no launcher"
    native = f"native {fabric.native}" if fabric.native else "no native build"
    lines = [f"  {mark}  {fabric.name:<10}{launcher}; {native}"]
    return lines + [f"      {'':<10}get it: {remedy}" for remedy in fabric.remedies]


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
