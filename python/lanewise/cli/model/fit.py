# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model fit`: communication models from samples, and the measuring of what they lack.

The native program knows the models, the experiments that they need and the arithmetic; here its
experiments are run one after another by `lanewise measure`, which goes on where it was stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.launching import Host, Hostfile, LauncherArguments, LauncherName, Ranks
from lanewise.cli.numbers import positive_count
from lanewise.errors import RequestError
from lanewise.files.whole import require_place, require_there
from lanewise.launch.room import room
from lanewise.model.program import ask

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="SAMPLES", help="Sample files of lanewise measure (.jsonl)."),
]
Output = Annotated[
    str, typer.Option("-o", "--output", metavar="FILE", help="Platform file to write (.json).")
]
Measure = Annotated[bool, typer.Option("--measure", help="First measure what the models need.")]
Folder = Annotated[
    str,
    typer.Option(
        "--samples",
        metavar="FOLDER",
        help="Folder in which --measure keeps the samples (default: samples).",
    ),
]
ShownAsJson = Annotated[
    bool, typer.Option("--json", help="Print the platform as one JSON object, not tables.")
]


def register(app: typer.Typer) -> None:
    """Add the command `fit` to `app`."""
    app.command("fit")(fit)


def fit(
    files: Files = None,
    output: Output = "",
    measure: Measure = False,
    ranks: Ranks = "",
    samples: Folder = "samples",
    launcher: LauncherName = "",
    host: Host = "",
    hostfile: Hostfile = "",
    launcher_args: LauncherArguments = "",
    as_json: ShownAsJson = False,
) -> None:
    """$ lanewise model fit pairs.jsonl triplets.jsonl -o platform.json

    Fit communication models to samples.

    The models are Hockney, LogGP, PLogP, LMO and piecewise; the output names the one that describes
    the machine best.  `lanewise model fit --measure -n 4 -o platform.json` first measures what the
    models need; if it is stopped, the same command continues.  If the given samples lack something,
    the output names the command that measures it.
    """
    paths = list(files or [])
    for path in paths:
        require_there(Path(path), "lanewise measure")
    if output:
        require_place(Path(output))
    if measure:
        launching = {
            "--launcher": launcher, "--host": host, "--hostfile": hostfile,
            "--launcher-args": launcher_args,
        }  # fmt: skip
        words = [f"{option}={text}" for option, text in launching.items() if text]
        count = positive_count("-n", ranks or str(room(os.environ, host, hostfile).ranks))
        paths += measure_all(count, Path(samples), words)
    elif ranks or launcher or host or hostfile or launcher_args:
        raise RequestError("the options below Launch are for measuring; add --measure or omit them")
    line = [*paths, *(["-o", output] if output else []), *(["--json"] if as_json else [])]
    sys.stdout.write(ask(*line))


def measure_all(ranks: int, folder: Path, words: list[str]) -> list[str]:
    """Measure every experiment that the models need into `folder`, and return the files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"--samples {folder} cannot be made: {error.strerror}; name another folder"
        ) from None
    runs = json.loads(ask("--experiments", str(ranks)))["experiments"]
    paths = []
    for number, run in enumerate(runs, start=1):
        path = folder / f"{run['name']}.jsonl"
        sys.stderr.write(f"{number}/{len(runs)} {run['operation']} {run['arguments']}\n")
        resumed = ["--resume"] if path.exists() else []
        shown = [] if sys.stderr.isatty() else ["-q"]
        line = [run["operation"], *run["arguments"].split(), "-n", str(ranks), "-o", str(path)]
        done = subprocess.run(
            [sys.executable, "-m", "lanewise", "measure", *line, *words, *resumed, *shown],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise typer.Exit(done.returncode)
        paths.append(str(path))
    return paths
