# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma discover`: files that say which ports reach each other."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from lanewise.errors import RequestError
from lanewise.files import paths as path_files
from lanewise.files.whole import alone_with, write_whole
from lanewise.hca.discover import host_here, text_of, with_host


def register(app: typer.Typer) -> None:
    """Add the command `discover` to `app`."""
    app.command("discover")(discover)


def discover(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Path file to which this host is added (default: standard output).",
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Name of this host in the file (default: what hostname prints)."
        ),
    ] = "",
    rail: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DEVICE:PORT=NAME",
            help="Rail of a port; ports of one rail reach each other; repeatable (default: the "
            "number of the port).",
        ),
    ] = None,
) -> None:
    """$ lanewise rdma discover -o paths.json

    Record the ports of this host, and which ports reach each other.

    Run it on each host with the same file.  A port belongs to the rail with its own number, unless
    --rail says otherwise.
    """
    host = host_here(name or socket.gethostname(), _rails(rail or []), os.environ)
    if output is None:
        sys.stdout.write(text_of(with_host(None, host)))
        return
    with alone_with(output):
        known = path_files.load(output) if output.is_file() else None
        write_whole(output, text_of(with_host(known, host)))


def _rails(words: list[str]) -> dict[str, str]:
    rails = {}
    for word in words:
        label, separator, rail = word.partition("=")
        if not separator or ":" not in label or not rail:
            raise RequestError(f"--rail {word}: say DEVICE:PORT=NAME, such as mlx5_0:1=left")
        rails[label] = rail
    return rails
