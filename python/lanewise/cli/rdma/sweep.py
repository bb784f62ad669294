# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma sweep`: a verbs program meets every fault that it can meet, one a run."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import typer

from lanewise.cli.numbers import positive_count
from lanewise.cli.rdma.run import Program
from lanewise.cli.terminal import columns_shown
from lanewise.errors import RequestError, RunError
from lanewise.files.whole import require_apart, require_places, write_whole
from lanewise.launch.machine import core_count
from lanewise.launch.run import terminated_as_interrupted
from lanewise.results.printable import printable
from lanewise.toml.quantities import duration_s


def register(app: typer.Typer) -> None:
    """Add the command `sweep` to `app`."""
    settings = {"allow_interspersed_args": False}
    app.command("sweep", context_settings=settings)(sweep)


def sweep(
    program: Program = None,
    server: str = typer.Option(
        "",
        metavar="COMMAND",
        help="Program on the other host, which is started first and meets no faults.",
    ),
    check: str = typer.Option(
        "",
        metavar="COMMAND",
        help="Command that reads what the program printed, and ends with a status other than "
        "0 if the result is wrong.",
    ),
    timeout: str = typer.Option(
        "10s", metavar="TIME", help="Time after which a program counts as hanging."
    ),
    runs_max: str = typer.Option(
        "200",
        metavar="N",
        help="Largest number of runs; the first fault of each call, completion, packet and "
        "message comes first.",
    ),
    jobs: str = typer.Option(
        "", metavar="N", help="Number of runs at a time (default: number of cores)."
    ),
    junit: Path | None = typer.Option(
        None, metavar="FILE", help="File for JUnit XML with a test case for each run."
    ),
    html: Path | None = typer.Option(
        None, metavar="FILE", help="File for a page that shows all runs."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """$ lanewise rdma sweep --server ./server -- ./client {address}

    Try every fault that a verbs program can meet.

    The program runs once without faults, then once with each fault of the calls, completions,
    packets and connections that occurred.  Every run has two hosts of its own; {address} is
    replaced by the address of the server, and {folder} by a folder of the run.  Ends with status 1
    if the program crashes, hangs, reports success with a wrong result, or does not destroy an
    object, or if no run reached its fault.
    """
    from lanewise.rdma.sweep import runs, text

    if not program:
        raise RequestError("no program; say: lanewise rdma sweep -- PROGRAM")
    require_places(junit, html)
    require_apart({"--junit": junit, "--html": html})
    asked = runs.Asked(
        program=program,
        server=_words("--server", server),
        check=_words("--check", check),
        timeout_s=duration_s("--timeout", timeout, "10s or 500ms"),
        runs_max=positive_count("--runs-max", runs_max),
        jobs=positive_count("--jobs", jobs) if jobs else core_count(),
    )
    with terminated_as_interrupted():
        found = runs.sweep(asked, _show_progress)
    lines = map(printable, text.lines_of(found, columns_shown()))
    shown = json.dumps(text.as_object(found)) if as_json else "\n".join(lines)
    try:
        typer.echo(shown)
    finally:
        # Neither a full disk nor who reads no further loses the rest of a long sweep.
        if junit is not None:
            write_whole(junit, text.junit(found))
        if html is not None:
            write_whole(html, text.page(found, shlex.join(program)))
    if not found.has_met_faults:
        raise RunError(
            "no run reached its fault, so nothing was tested; check that the program does the same "
            "in every run"
        )
    if found.findings:
        raise typer.Exit(1)


def _words(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RequestError(f"{option} {text}: {error}; close what is quoted") from None


def _show_progress(done: int, count: int) -> None:
    if sys.stderr.isatty():
        end = "\r" if done < count else "\r\033[K"
        sys.stderr.write(f"{done} of {count} runs{end}")
        sys.stderr.flush()
