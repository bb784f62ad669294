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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.launching import Host, Hostfile, LauncherArguments, LauncherName, Ranks
from lanewise.cli.numbers import positive_count
from lanewise.errors import RequestError
from lanewise.files.whole import require_apart, require_places, require_there
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.room import room
from lanewise.model.program import ask, file_word

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
    wanted = Path(output) if output else None
    require_places(wanted)
    require_apart({"-o": wanted}, *map(Path, paths))
    if measure:
        launching = {
            "--launcher": launcher, "--host": host, "--hostfile": hostfile,
            "--launcher-args": launcher_args,
        }  # fmt: skip
        words = [f"{option}={text}" for option, text in launching.items() if text]
        count = positive_count("-n", ranks or str(room(os.environ, host, hostfile).ranks))
        runs = experiments(count, Path(samples))
        require_apart({"-o": wanted}, *runs)
        paths += measure_all(count, runs, words)
    elif ranks or launcher or host or hostfile or launcher_args:
        raise RequestError("the options below Launch are for measuring; add --measure or omit them")
    line = [*([f"--output={output}"] if output else []), *(["--json"] if as_json else [])]
    sys.stdout.write(ask(*line, *map(file_word, paths)))


def experiments(ranks: int, folder: Path) -> dict[Path, dict[str, str]]:
    """Return the experiments that the models need by the files, which `folder` is to have."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"--samples {folder} cannot be made: {error.strerror}; name another folder"
        ) from None
    runs = json.loads(ask("--experiments", str(ranks)))["experiments"]
    return {folder / f"{run['name']}.jsonl": run for run in runs}


def measure_all(ranks: int, runs: Mapping[Path, Mapping[str, str]], words: list[str]) -> list[str]:
    """Measure every experiment into its file, and return the files."""
    for number, (path, run) in enumerate(runs.items(), start=1):
        sys.stderr.write(f"{number}/{len(runs)} {run['operation']} {run['arguments']}\n")
        resumed = ["--resume"] if path.exists() else []
        shown = [] if sys.stderr.isatty() else ["-q"]
        line = [run["operation"], *run["arguments"].split(), "-n", str(ranks), "-o", str(path)]
        status = status_of(["measure", *line, *words, *resumed, *shown])
        if status != 0:
            raise typer.Exit(status)
    return [str(path) for path in runs]


def status_of(words: Sequence[str]) -> int:
    """Run another command of Lanewise and return its status; an interrupt ends it first.

    It has a session of its own, so that a Ctrl-C reaches it once, from here.
    """
    with deferred_interrupts() as release:
        process = subprocess.Popen(
            [sys.executable, "-m", "lanewise", *words],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            release()
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
