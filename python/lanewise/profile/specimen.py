# SPDX-License-Identifier: BSD-3-Clause
"""Profiles for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def part(rank: int, **changes: Any) -> Json:
    """Return one rank in ten calls of a place, in which it neither waited nor was late."""
    return {
        "rank": rank, "site": 0, "calls": 10, "bytes": 80, "waiting_s": 0.0, "transfer_s": 0.1,
        "lateness_s": 0.0, "awaited_s": 0.0, "last_calls": 0, **changes,
    }  # fmt: skip


def late_and_waiting(late: int, waiting: int, delay_s: float, **changes: Any) -> list[Json]:
    """Return two ranks of a place, of which one waited for the other."""
    return [
        part(late, lateness_s=delay_s, awaited_s=delay_s, last_calls=10, **changes),
        part(waiting, waiting_s=delay_s),
    ]


def values(**changes: Any) -> Json:
    """Return a whole profile of two ranks: rank 1 was late before the allreduce."""
    none = dict.fromkeys(
        ("forgotten", "nonblocking", "intercommunicator", "incomplete", "mismatched"), 0
    )
    return {
        "schema": "lanewise-profile",
        "version": 1,
        "lanewise": "0.1.0",
        "program": "mpirun -n 2 ./app",
        "clock": {"hosts": 1, "drift_s": 0.0},
        "calls": {"attributed": 40, "one_in": 1, **none},
        "processes": [
            {"rank": 0, "host": "node1", "elapsed_s": 2.0, "in_calls_s": 0.7},
            {"rank": 1, "host": "node1", "elapsed_s": 2.0, "in_calls_s": 0.2},
        ],
        "sites": [
            {"object": "/home/me/app", "offset": 4755, "function": "step", "source": "app.c:7"},
            {"object": "/home/me/app", "offset": 4802},
        ],
        "places": [
            {"operation": "bcast", "site": 1, "ranks": [part(0), part(1)]},
            {"operation": "allreduce", "site": 0, "ranks": late_and_waiting(1, 0, 0.5)},
        ],
        **changes,
    }


def write(path: Path, **changes: Any) -> Path:
    """Write a profile to `path`, and return the path."""
    path.write_text(json.dumps(values(**changes)), encoding="utf-8")
    return path
