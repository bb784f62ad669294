# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise reproduce`: the tables and figures of the papers, run on this machine."""

from __future__ import annotations

from pathlib import Path

import typer


def register(app: typer.Typer) -> None:
    """Add the command `reproduce` to `app`."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: str = typer.Argument("", help="The experiment to run; without it they are listed."),
    list_: bool = typer.Option(False, "--list", help="List the experiments."),
    json_: bool = typer.Option(False, "--json", help="End with one JSON object on stdout."),
    output: Path = typer.Option(
        Path("reproduce"), "-o", "--output", help="The folder for plots and result files."
    ),
) -> None:
    """$ lanewise reproduce timing-methods

    Run a table or figure of the papers here, and show the paper's numbers beside this machine's.
    Without a name, list what there is.
    """
    from lanewise.reproduce import show
    from lanewise.reproduce.registry import find_experiment
    from lanewise.reproduce.run import run_experiment

    if list_ or not name:
        show.print_list(as_json=json_)
        return
    outcome = run_experiment(find_experiment(name), output / name)
    if json_:
        show.print_json(outcome)
    else:
        show.print_outcome(outcome)
