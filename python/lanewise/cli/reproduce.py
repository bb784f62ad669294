# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise reproduce`: the tables and figures of the papers, run on this machine.

The experiments lie in experiments/ of the repository and are not installed, so the command is there
in a checkout only.  Nothing else in this package imports them.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import typer

import lanewise
from lanewise.errors import RunError

PACKAGE = "experiments"


def checkout() -> Path | None:
    """Return the root of the repository that this package lies in; None where it is installed."""
    root = Path(lanewise.__file__).resolve().parents[2]
    return root if (root / PACKAGE / "registry.py").is_file() else None


def register(app: typer.Typer) -> None:
    """Add the command `reproduce` to `app`; where there are no experiments the help omits it."""
    app.command("reproduce", hidden=checkout() is None)(reproduce)


def load_experiments() -> None:
    """Make the package `experiments` of the checkout importable; RunError without one."""
    root = checkout()
    if root is None:
        raise RunError(
            "the experiments are not installed; run it in a checkout of the repository, "
            "after: make experiments"
        )
    if PACKAGE in sys.modules:
        return
    # Found by itself, so that the other folders of the repository do not become importable.
    spec = PathFinder.find_spec(PACKAGE, [str(root)])
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def reproduce(
    name: str = typer.Argument(
        "", metavar="NAME", help="Experiment to run; without it, all are listed."
    ),
    list_: bool = typer.Option(False, "--list", help="List the experiments."),
    json_: bool = typer.Option(False, "--json", help="End with one JSON object on stdout."),
    folder: Path = typer.Option(
        Path("reproduce"),
        "--folder",
        metavar="FOLDER",
        help="Folder for plots and files (default: reproduce).",
    ),
    results_folder: Path | None = typer.Option(
        None,
        "--results",
        metavar="FOLDER",
        help="Folder in which the outcome is appended to NAME.jsonl (default: "
        "experiments/results of the checkout).",
    ),
) -> None:
    """$ lanewise reproduce timing-methods

    Run a table or figure of the papers here.

    The paper's numbers are shown beside this machine's, and for each figure its target, how it is
    estimated, and how many launches are within the target.  Without a name, the experiments are
    listed.  What was measured is appended to experiments/results, from which docs/experiments.md is
    written; a missed target ends with status 1.
    """
    load_experiments()
    from experiments import published, results, show
    from experiments.registry import find_experiment
    from experiments.run import run_experiment

    if list_ or not name:
        show.print_list(as_json=json_)
        return
    experiment = find_experiment(name)
    finished = run_experiment(experiment, folder / experiment.name)
    folder_kept = results_folder or results.FOLDER
    kept = results.append(show.as_object(finished), folder_kept)
    if json_:
        show.print_json(finished)
    else:
        show.print_outcome(finished)
    if kept is None:
        raise RunError(
            f"this run is not kept: {folder_kept} cannot be written; name another with --results"
        )
    if results_folder is None:
        published.write(published.ROOT)
    if finished.faults:
        raise RunError(finished.faults[0], finished.faults[1:])
    if not finished.met:
        raise typer.Exit(1)
