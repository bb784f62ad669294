# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise export`: results as CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import RequestError

CsvTarget = Annotated[str, typer.Option("--csv", metavar="OUT", help="CSV; - is standard output.")]
ParquetTarget = Annotated[str, typer.Option("--parquet", metavar="OUT", help="Parquet.")]
Raw = Annotated[bool, typer.Option("--raw", help="CSV: a line a repetition, not a point.")]


def register(app: typer.Typer) -> None:
    """Add the command `export` to `app`."""
    app.command("export")(export)


def export(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Result files.")],
    csv: CsvTarget = "",
    parquet: ParquetTarget = "",
    raw: Raw = False,
) -> None:
    """$ lanewise export samples.jsonl --csv samples.csv

    Write results as CSV or Parquet.

    Parquet keeps every repetition in a list
    column; CSV has a line a point, or a line a repetition with --raw.
    """
    from lanewise.results.export import repetitions, summary, write_csv, write_parquet
    from lanewise.results.frame import read

    if not csv and not parquet:
        raise RequestError("nothing to write; add --csv OUT or --parquet OUT")
    frame = read(*files)
    if csv:
        write_csv(repetitions(frame) if raw else summary(frame), csv)
    if parquet:
        write_parquet(frame, parquet)
