# SPDX-License-Identifier: BSD-3-Clause
"""A server and a client of one program, such as perftest's: started in order, ended together.

The client is started once the server listens on its TCP port, seen in the kernel's table of
sockets; connecting to find out would be taken for the client.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LISTENING = "0A"
LOOK_EVERY_S = 0.01


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status (None where its time ran out) and all it printed."""

    status: int | None
    output: str


def run_pair(
    server: Sequence[str],
    client: Sequence[str],
    port: int,
    environment: Mapping[str, str],
    limit_s: float,
) -> tuple[Ended, Ended]:
    """Run both and return how the server and the client ended.

    A server that goes on after its client is ended, with the status None.
    """
    until = time.monotonic() + limit_s
    with tempfile.TemporaryFile("w+") as server_text, tempfile.TemporaryFile("w+") as client_text:
        first = _start(server, environment, server_text)
        try:
            while not is_listening(first.pid, port) and first.poll() is None:
                if time.monotonic() > until:
                    break
                time.sleep(LOOK_EVERY_S)
            second = _start(client, environment, client_text)
            statuses = [_end(one, until - time.monotonic()) for one in (second, first)]
        finally:
            _end(first, 0)
        return Ended(statuses[1], _all(server_text)), Ended(statuses[0], _all(client_text))


def is_listening(process: int, port: int) -> bool:
    """Say whether something listens on a TCP port in the network namespace of a process."""
    tables = (Path(f"/proc/{process}/net/{name}") for name in ("tcp", "tcp6"))
    for table in tables:
        try:
            rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()[1:]]
        except OSError:
            continue
        if any(int(row[1].split(":")[1], 16) == port and row[3] == LISTENING for row in rows):
            return True
    return False


def _start(
    line: Sequence[str], environment: Mapping[str, str], text: IO[str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(line), env=dict(environment), stdout=text, stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def _end(process: subprocess.Popen[str], limit_s: float) -> int | None:
    """Return the status; where the time runs out, end the process and return None."""
    try:
        return process.wait(max(limit_s, 0))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _all(text: IO[str]) -> str:
    text.seek(0)
    return text.read()
