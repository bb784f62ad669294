# SPDX-License-Identifier: BSD-3-Clause
"""Many queue pairs: the memory that ten thousand of one process take, and the cost of idling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from experiments.hca.hosts import LISTENER, Hosts
from experiments.native import compiled
from lanewise.errors import RunError

PROGRAM = Path(__file__).with_name("many.c")
QUEUE_PAIRS = 10_000


@dataclass(frozen=True)
class Many:
    """How many queue pairs were open, the bytes of each, and the idle share of a processor."""

    queue_pairs: int
    bytes_each: int
    idle_percent: float


def many(hosts: Hosts, folder: Path, seconds: int) -> Many:
    """Open the queue pairs on a host, send a message on each, then sleep for `seconds`."""
    program = compiled("cc", PROGRAM, folder / "hca_many", "-std=gnu11", "-O1", "-libverbs")
    said = hosts.run(LISTENER, [str(program), str(QUEUE_PAIRS), str(seconds)])
    found = re.search(r"queue_pairs (\d+) bytes_each (\d+) idle_percent ([\d.]+)", said.stdout)
    if found is None or said.returncode != 0:
        raise RunError(f"{QUEUE_PAIRS} queue pairs failed: {said.stdout.strip()}")
    return Many(int(found[1]), int(found[2]), float(found[3]))
