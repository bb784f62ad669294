# SPDX-License-Identifier: BSD-3-Clause
"""A specimen of samples.jsonl, made without measuring, for tests and to look at.

The samples of a point are log-normal around a latency and a rate, seeded, so that two files made
alike are alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

LATENCY_S = 1.5e-6
RATE_BYTES_PER_S = 8e9


def context_record(**changes: Any) -> dict[str, Any]:
    """Return a context record as it stands in a file, with `changes` made to it."""
    ranks = int(changes.get("ranks", 4))
    return {
        "record": "context",
        "schema": "lanewise-samples",
        "version": 2,
        "lanewise": "0.1.0",
        "mpi": {
            "family": "openmpi",
            "library": "Open MPI v4.1.4, package: Debian",
            "standard": "3.1",
        },
        "launcher": "openmpi",
        "ranks": ranks,
        "placement": [{"rank": rank, "host": "node1", "cpus": "0-3"} for rank in range(ranks)],
        "cores": 4,
        "kernel": "Linux 6.1.0",
        "governor": "performance",
        "clocksource": "tsc",
        "clock": "monotonic",
        "method": "max",
        "start": "barrier",
        "stopping": {
            "rule": "median",
            "confidence": 0.95,
            "error": 0.025,
            "repetitions_min": 10,
            "repetitions_max": 1000,
            "warmup_repetitions": 2,
            "time_limit_s": 10.0,
            "batches_min": 2,
        },
        "pipeline_length": 1,
        "root": 0,
        "weights": [],
        "reply": "same",
        "order": "parallel",
        "seed": 0,
        "started": "2026-11-21T10:00:00Z",
        "arguments": ["scatter", "--sizes", "8:1K:x2"],
        **changes,
    }


def point_record(
    operation: str, message_bytes: int, samples_s: Iterable[float], **changes: Any
) -> dict[str, Any]:
    """Return a point record whose summary follows from `samples_s`, with `changes` made to it."""
    values = np.asarray(list(samples_s), dtype=np.float64)
    ordered = np.sort(values)
    reach = round(0.98 * float(np.sqrt(len(values))))
    middle = len(values) // 2
    return {
        "record": "point",
        "operation": operation,
        "root": 0,
        "message_bytes": message_bytes,
        "median_s": float(np.median(values)),
        "low_s": float(ordered[max(0, middle - reach)]),
        "high_s": float(ordered[min(len(values) - 1, middle + reach)]),
        "mean_s": float(values.mean()),
        "repetitions": len(values),
        "late_count": 0,
        "outlier_count": 0,
        "batches": 2,
        "stopped": "interval",
        "elapsed_s": float(abs(values).sum()),
        "samples_s": values.tolist(),
        **changes,
    }


def lognormal_samples(
    message_bytes: int, count: int, seed: int, slowdown: float = 1.0
) -> list[float]:
    """Return `count` times in seconds of a message, `slowdown` times as long as usual."""
    source = np.random.default_rng([seed, message_bytes])
    centre_s = slowdown * (LATENCY_S + message_bytes / RATE_BYTES_PER_S)
    return [float(value) for value in centre_s * source.lognormal(0.0, 0.05, count)]


def records(
    operations: Iterable[str] = ("scatter",),
    sizes_bytes: Iterable[int] = (8, 16, 32, 64, 128, 256, 512, 1024),
    seed: int = 1,
    slowdown: float = 1.0,
    context: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return all records of a finished run of one launch."""
    sizes_bytes = list(sizes_bytes)
    points = [
        point_record(name, size, lognormal_samples(size, 40, seed, slowdown))
        for name in operations
        for size in sizes_bytes
    ]
    end = {"record": "end", "points": len(points), "elapsed_s": 1.0}
    return [context_record(**(context or {})), *points, end]


def launched_records(
    launches: int = 3, spread: float = 0.0, seed: int = 1, slowdown: float = 1.0, **named: Any
) -> list[dict[str, Any]]:
    """Return all records of a finished run of several launches.

    `spread` is the standard deviation of the logarithm of what a whole launch is slower by;
    `named` goes to `records`.
    """
    named["context"] = {"launches": launches, **(named.get("context") or {})}
    context: dict[str, Any] = {}
    points = []
    for launch in range(1, launches + 1):
        slower = slowdown * float(np.random.default_rng([seed, launch]).lognormal(0.0, spread))
        context, *found, _ = records(seed=seed + 1000 * (launch - 1), slowdown=slower, **named)
        points += [{**point, "launch": launch} for point in found]
    return [context, *points, {"record": "end", "points": len(points), "elapsed_s": 1.0}]


def write(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    """Write records to `path`, a line each, and return it."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
