# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise reproduce`: the tables and figures of the papers, run on this machine.

The experiments lie in experiments/ of the repository and are not installed, so the command is there
in a clone only.  Nothing else in this package imports them.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import typer

import lanewise
from lanewise.errors import RequestError, RunError

PACKAGE = "experiments"


def clone() -> Path | None:
    """Return the root of the repository that this package lies in; None where it is installed."""
    root = Path(lanewise.__file__).resolve().parents[2]
    return root if (root / PACKAGE / "registry.py").is_file() else None


def register(app: typer.Typer) -> None:
    """Add the command `reproduce` to `app`; where there are no experiments the help omits it."""
    app.command("reproduce", hidden=clone() is None)(reproduce)


def load_experiments() -> None:
    """Make the package `experiments` of the clone importable; RunError without one."""
    root = clone()
    if root is None:
        raise RunError(
            "the experiments are not installed; run it in a clone of the repository, "
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


def refuse(name: str, *, all_: bool, from_results: bool, output: Path | None) -> None:
    """Raise RequestError for options that do not go together."""
    if name and all_:
        raise RequestError(f"{name} is one experiment and --all means all; leave out one of them")
    if output is not None and not all_:
        raise RequestError("-o names the page of all figures; add --all")
    if from_results and not all_:
        raise RequestError("--from-results draws the page of all figures; add --all")


def refuse_quick(
    name: str, results_folder: Path | None, *, all_: bool, quick: bool, from_results: bool
) -> None:
    """Raise RequestError where a quick run is asked for in vain."""
    if not quick:
        return
    if from_results:
        raise RequestError("--from-results runs nothing; leave out --quick")
    if not (name or all_):
        raise RequestError("--quick is for an experiment or for --all; name one")
    if results_folder is not None:
        raise RequestError("a run with --quick is not kept; leave out --results")


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
        "experiments/results of the clone).",
    ),
    all_: bool = typer.Option(
        False, "--all", help="Run the experiments of all figures of the papers and draw one page."
    ),
    quick: bool = typer.Option(
        False,
        "--quick",
        help="Run at a smaller scale; what is measured is not kept.  With --all, experiments that "
        "have none run whole.",
    ),
    from_results: bool = typer.Option(
        False, "--from-results", help="With --all: run nothing, draw the newest runs that are kept."
    ),
    output: Path | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="PAGE",
        help="With --all: the page to write, with its data beside it as .json "
        "(default: papers.html).",
    ),
) -> None:
    """$ lanewise reproduce timing-methods

    Measure the papers' tables and figures on this machine.

    The paper's numbers are shown beside this machine's, and for each figure its target, how it is
    estimated, and how many launches are within the target.  Without a name, the experiments are
    listed.  What was measured is appended to experiments/results, from which docs/experiments.md is
    written; a missed target ends with status 1.

    With --all, one page has every table and figure of the papers beside what was measured here.
    Experiments that fail are named on it, and end the command with status 1.
    """
    refuse(name, all_=all_, from_results=from_results, output=output)
    refuse_quick(name, results_folder, all_=all_, quick=quick, from_results=from_results)
    load_experiments()
    if all_:
        met = reproduce_all(
            output or Path("papers.html"), folder, results_folder, quick, from_results, json_
        )
    elif list_ or not name:
        from experiments import show

        show.print_list(as_json=json_)
        return
    else:
        met = reproduce_one(name, folder, results_folder, quick, json_)
    if not met:
        raise typer.Exit(1)


def reproduce_all(
    output: Path,
    folder: Path,
    results_folder: Path | None,
    quick: bool,
    from_results: bool,
    as_json: bool,
) -> bool:
    """Write the page of all figures; say whether all experiments ran and met their targets."""
    from experiments.papers import whole

    return whole.reproduce_all(
        whole.Request(output, folder, results_folder, quick, from_results, as_json)
    )


def reproduce_one(
    name: str, folder: Path, results_folder: Path | None, quick: bool, as_json: bool
) -> bool:
    """Run one experiment, show it and keep it; say whether it met its targets.

    A quick run is neither kept nor judged.
    """
    from experiments import published, results, show
    from experiments.papers import gallery
    from experiments.papers.conduct import refuse_quick_of
    from experiments.registry import find_experiment
    from experiments.run import run_experiment

    experiment = find_experiment(name)
    kept_in = results_folder or results.FOLDER
    if quick:
        refuse_quick_of(experiment)
    else:
        results.require_writable([experiment.name], kept_in)
    finished = run_experiment(experiment, folder / experiment.name, quick=quick)
    lost = "" if quick else show.keep(finished, kept_in, folder)
    if as_json:
        show.print_json(finished)
    else:
        show.print_outcome(finished)
    if quick:
        return True
    if lost:
        raise RunError(lost)
    if results_folder is None:
        published.write(published.ROOT)
        gallery.write(published.ROOT)
    if finished.faults:
        raise RunError(finished.faults[0], finished.faults[1:])
    return finished.met
