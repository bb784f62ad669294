# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise import`: what another benchmark printed, as a file of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.file_names import require_file_name
from lanewise.cli.numbers import counted, positive_count
from lanewise.files.whole import require_apart, write_whole

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Text of OSU, IMB, NetPIPE, nccl-tests or ReproMPI, with headings."
    ),
]
Output = Annotated[str, typer.Option("-o", "--output", metavar="OUT", help="File to write.")]
Ranks = Annotated[
    str,
    typer.Option(
        "-n",
        "--ranks",
        metavar="N",
        help="Number of ranks, if the text does not state it, or to select one of several.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command `import` to `app`."""
    app.command("import", hidden=True)(import_text)


def import_text(file: File, output: Output, ranks: Ranks = "") -> None:
    """$ lanewise import osu.txt -n 4 -o osu.jsonl

    Convert the output of another benchmark to samples.

    `lanewise compare` and `lanewise report` read such text themselves; this writes the file that
    they would read.  A point has the numbers that the tool printed, and an interval if the tool
    printed every repetition, or the text is of several runs, each of which is a launch.
    """
    from lanewise.imports.load import lines_for, load

    require_file_name("-o", output)
    require_apart({"-o": Path(output)}, file)
    samples = load(file, positive_count("-n", ranks) if ranks else 0)
    write_whole(Path(output), "".join(f"{line}\n" for line in lines_for(samples)))
    launches = f" over {samples.launches} launches" if samples.launches > 1 else ""
    typer.echo(f"{output}  {counted(len(samples.points), 'point')}{launches}")
    for note in samples.context.imported.get("notes", []):
        typer.echo(f"lanewise import: {note}", err=True)
