# SPDX-License-Identifier: BSD-3-Clause
"""What `compare --gate` and `gate` share: options, and how a verdict is shown and kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.file_names import require_file_name, require_uncompressed
from lanewise.cli.numbers import share
from lanewise.cli.terminal import columns_shown, for_terminal
from lanewise.errors import RequestError
from lanewise.results.printable import printable

if TYPE_CHECKING:
    from lanewise.results.gate import Verdict

PANEL = "Gate"
RATE = "1%"

FalseAlarms = Annotated[
    str,
    typer.Option(
        "--false-alarms",
        metavar="SHARE",
        help=f"Rate of false alarms of the gate, over all points together (default: {RATE}).",
        rich_help_panel=PANEL,
    ),
]
JUnit = Annotated[
    str | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="File to which the verdict is written as JUnit XML, one test case per operation.",
        rich_help_panel=PANEL,
    ),
]
Markdown = Annotated[
    str | None,
    typer.Option(
        "--markdown",
        metavar="FILE",
        help="File to which a summary for a pull request is written.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class Shown:
    """Where a verdict goes: the terminal, as a table or as JSON, and files."""

    as_json: bool = False
    junit: Path | None = None
    markdown: Path | None = None


def files_named(junit: str | None, markdown: str | None) -> dict[str, Path | None]:
    """Return the files of a verdict by their options.

    Raises RequestError for a hyphen, and for a name that promises compression.
    """
    names = {"--junit": junit, "--markdown": markdown}
    for option, name in names.items():
        require_file_name(option, name)
        require_uncompressed(name or "")
    return {option: None if name is None else Path(name) for option, name in names.items()}


def rate_of(text: str) -> float:
    """Return the rate of false alarms; RequestError where it is none."""
    rate = share("--false-alarms", text or RATE)
    if not 0 < rate < 1:
        raise RequestError(f"--false-alarms {text} is not a rate between 0 and 1; try {RATE}")
    return rate


def show(verdict: Verdict, shown: Shown, command: str) -> None:
    """Show and keep a verdict; end the command with status 1 where the candidate is slower."""
    from lanewise.files.whole import write_whole
    from lanewise.results import gate_text

    if shown.junit is not None:
        write_whole(shown.junit, gate_text.junit(verdict))
    if shown.markdown is not None:
        write_whole(shown.markdown, gate_text.markdown(verdict))
    if shown.as_json:
        typer.echo(json.dumps(gate_text.as_object(verdict)))
    else:
        columns = columns_shown()
        typer.echo("\n".join(for_terminal(gate_text.lines_of(verdict, columns), columns)))
    if verdict.alarms:
        typer.echo(f"lanewise {command}: {printable(gate_text.sentence(verdict))}", err=True)
        raise typer.Exit(1)
