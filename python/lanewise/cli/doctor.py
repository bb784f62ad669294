# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise doctor`: what this machine offers a measurement, what is missing, and what gets it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer

from lanewise.launch.examine import Examination, LauncherFound, examine


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to `app`."""
    app.command("doctor")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """$ lanewise doctor

    Examine this machine.

    Shows the launchers with their programs and native builds, cores and binding, frequency
    governor, clock source, disk and ports; what is missing, and the command that installs it.
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
    if found.ports:
        lines += ["", "Ports"]
        lines += [f"  {port.name:<12}{port.state:<10}{port.rate}" for port in found.ports]
    lines += ["", "Advice", *(f"  {sentence}" for sentence in found.advice)] if found.advice else []
    verdict = ", ".join(launcher.name for launcher in found.launchers if launcher.usable)
    return [*lines, "", f"Ready to measure on: {verdict or 'nothing yet'}"]


def launcher_lines(launcher: LauncherFound) -> list[str]:
    """Return the lines of one launcher: what was found, and what gets the rest."""
    mark = "ok" if launcher.usable else "--"
    program = "not installed"
    if launcher.executable:
        program = f"{launcher.executable}  {launcher.version}"
    native = f"native {launcher.native}" if launcher.native else "no native build"
    lines = [f"  {mark}  {launcher.name:<10}{program}; {native}"]
    return lines + [f"      {'':<10}get it: {remedy}" for remedy in launcher.remedies]


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
