# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma protect`: a verbs program as it is, whose queue pairs outlive a cut cable."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli.rdma.run import Program
from lanewise.errors import RequestError
from lanewise.files import paths
from lanewise.files.whole import require_apart
from lanewise.hca.protect import Protection, check, variables_for
from lanewise.launch.foreground import become
from lanewise.launch.packages import not_found
from lanewise.launch.use_mark import use_mark
from lanewise.toml.quantities import duration_s


def register(app: typer.Typer) -> None:
    """Add the command `protect` to `app`."""
    settings = {"allow_interspersed_args": False}
    app.command("protect", context_settings=settings)(protect)


def protect(
    program: Program = None,
    path_file: Annotated[
        Path | None,
        typer.Option(
            "--paths",
            metavar="FILE",
            help="Path file of lanewise rdma discover (default: addresses by convention).",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="back|stay|balance",
            help="Where queue pairs are while all ports are up: back on the port they started on, "
            "where a migration led, or spread over the ports.",
        ),
    ] = "back",
    failback_delay: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time that a port must have been up before queue pairs return to it.",
        ),
    ] = "1s",
    retry_window: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time to retry while every path is down; on the software device only.",
        ),
    ] = "10s",
    quiet: Annotated[int | None, typer.Option(hidden=True)] = None,  # --failback-delay in 0.1, ms
    grace: Annotated[int | None, typer.Option(hidden=True)] = None,  # --retry-window in 0.1, ms
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to which each process appends a JSON line (default: a summary on stderr).",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Fail if a queue pair cannot be protected, rather than leave it unprotected.",
        ),
    ] = False,
) -> None:
    """$ lanewise rdma protect -- ib_write_bw 10.0.0.2

    Keep a verbs program running when a link fails.

    Every queue pair gets an alternate path and moves there when its port dies (automatic path
    migration).  The program is not changed; protect both ends.  The exit status is the program's.
    On the software device:
    lanewise rdma run --ports eth0,eth1 -- lanewise rdma protect -- PROGRAM
    """
    if not program:
        raise RequestError("no program; say: lanewise rdma protect -- ibv_rc_pingpong 10.0.0.2")
    require_apart({"--report": report}, path_file)
    if path_file is not None:
        paths.load(path_file)
        path_file = path_file.resolve()
    protection = Protection(
        path_file=path_file,
        report=report.resolve() if report else None,
        policy=policy,
        failback_delay_ms=_time_ms("--failback-delay", failback_delay, quiet),
        retry_window_ms=_time_ms("--retry-window", retry_window, grace),
        strict=strict,
    )
    check(protection)
    environment = {
        **os.environ,
        **variables_for(protection, os.environ),
        "LANEWISE_PROTECT_USE_MARK": use_mark(),
    }
    environment.pop("LANEWISE_HCA_USE_MARK", None)  # one line at the end is enough
    found = shutil.which(program[0], path=environment.get("PATH"))
    if found is None:
        raise RequestError(not_found(program[0]))
    become(found, program, environment)


def _time_ms(option: str, text: str, old_ms: int | None) -> int:
    """Return the value of an option, or that of its old name if it was given."""
    return (
        round(1e3 * duration_s(option, text, "1s or 500ms", zero=True))
        if old_ms is None
        else old_ms
    )
