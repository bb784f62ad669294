# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise tune export`: the rules of a tuning file, written for the MPI itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.errors import RequestError

if TYPE_CHECKING:
    from lanewise.tuning.safety import Operators

FORMATS = "openmpi|openmpi6|mpich"


def register(app: typer.Typer) -> None:
    """Add the command `export` to `app`, which is `lanewise tune`."""
    app.command("export")(export)


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Tuning file of lanewise tune.")],
    format_: Annotated[
        str, typer.Option("--for", metavar=FORMATS, help="MPI that will read the rules.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="File to write (default: standard output)."
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run the MPI with the rules and check that it follows them."),
    ] = False,
    commutative_only: Annotated[
        bool,
        typer.Option(
            "--commutative-only",
            help="Also write rules of Open MPI that give wrong results with reductions whose "
            "operator does not commute.",
        ),
    ] = False,
    launcher: Annotated[
        str,
        typer.Option(
            "--launcher",
            metavar="NAME",
            help="Launcher that --verify uses (default: the MPI's own).",
        ),
    ] = "",
) -> None:
    """$ lanewise tune export tuning.json --for openmpi -o rules.conf

    Write the rules of a tuning file for the MPI itself.

    Programs then run without Lanewise: Open MPI reads the rules from a file, MPICH from variables.
    Rules for which the MPI has no algorithm are left out and listed.
    """
    from lanewise.tuning.emitters import emitter_named
    from lanewise.tuning.safety import Operators

    emitter_named(format_)
    if output is not None and output.exists():
        raise RequestError(f"{output} exists; name another")
    operators = Operators.COMMUTATIVE if commutative_only else Operators.ANY
    write(Exported(file, format_, output, launcher, operators, verified=verify))


@dataclass(frozen=True)
class Exported:
    """What is exported: a tuning file, the format, the file to write, and whether to verify it.

    Programs will reduce with these `operators`.  Without `output` it goes to standard output,
    without `launcher` the MPI's own one verifies it.
    """

    file: Path
    format: str
    output: Path | None
    launcher: str
    operators: Operators
    verified: bool


def write(wanted: Exported) -> None:
    """Write the rules and, where that is wanted, verify that the MPI obeys them."""
    from lanewise.files.whole import write_whole
    from lanewise.tuning.emitters import emitter_named
    from lanewise.tuning.read import load

    emitter = emitter_named(wanted.format)
    exportable = emitter.exportable(load(wanted.file), wanted.operators)
    emitted = emitter.emit(exportable.tuning)
    if wanted.output is None:
        typer.echo(emitted.text, nl=False)
    else:
        write_whole(wanted.output, emitted.text)
    if emitted.warning:
        sys.stderr.write(f"lanewise tune: {emitted.warning}\n")
    for note in (*exportable.left_out, *emitted.left_out):
        sys.stderr.write(f"lanewise tune: left out: {note}\n")
    if wanted.verified:
        from lanewise.cli.proving import prove_export

        prove_export(exportable.tuning, wanted.format, wanted.launcher, wanted.operators)
