# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise report`: one page from any number of result files."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command `report` to `app`."""
    app.command("report")(report)


def report(
    samples: list[Path] = typer.Argument(..., help="Files of measure, fit and tune."),
    output: Path = typer.Option(Path("report.html"), "-o", "--output", help="The page to write."),
) -> None:
    """$ lanewise report openmpi.jsonl mpich.jsonl -o report.html

    Write one self-contained page: curves with their intervals, the samples behind each point,
    tables, warnings, and all that is known of the machine.  It works offline.
    """
    from lanewise.report.write import write_report

    page = write_report(samples, output)
    typer.echo(f"{page.path}  {page.figures} figures, {page.curves} curves")
