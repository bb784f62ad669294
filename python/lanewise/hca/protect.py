# SPDX-License-Identifier: BSD-3-Clause
"""The environment that protects a program's queue pairs."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.hca.device import find_library
from lanewise.launch.preload import preloading

LIBRARY = "liblanewise_protect.so"
POLICIES = ("back", "stay", "balance")
DELAY_MS_MAX = 3_600_000


@dataclass(frozen=True)
class Protection:
    """How to protect queue pairs, as the options of `lanewise rdma protect` say.

    `path_file` has the addresses of peers, in place of the guide's convention, and `report` takes
    down what was done; both are absolute paths.  `policy` is "back" (to the first port), "stay" or
    "balance".  Delays are in milliseconds: `failback_delay_ms` is how long a port must be up before
    queue pairs return to it, `retry_window_ms` how long to retry while every path is dead.
    `strict` refuses queue pairs that cannot be protected.
    """

    path_file: Path | None = None
    report: Path | None = None
    policy: str = "back"
    failback_delay_ms: int = 1000
    retry_window_ms: int = 10_000
    strict: bool = False


def check(protection: Protection) -> None:
    """Raise RequestError for values that cannot be."""
    report = protection.report
    if report is not None and not Path(report).parent.is_dir():
        raise RequestError(
            f"--report {report} cannot be written; name a file in a folder that exists"
        )
    if protection.policy not in POLICIES:
        raise RequestError(f"--policy {protection.policy}: use {', '.join(POLICIES)}")
    for name, value in (
        ("--failback-delay", protection.failback_delay_ms),
        ("--retry-window", protection.retry_window_ms),
    ):
        if not 0 <= _whole(name, value) <= DELAY_MS_MAX:
            raise RequestError(f"{name} {value} ms: use 0 to {DELAY_MS_MAX // 1000} s")


def _whole(name: str, value: Any) -> int:
    """Return a delay; RequestError where it is not whole, which the libraries cannot read."""
    try:
        return int(operator.index(value))
    except TypeError:
        raise RequestError(f"{name} {value} ms: use a whole number of milliseconds") from None


def variables_for(protection: Protection, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add; our library comes before a preloaded device."""
    # With several devices a queue pair moves to another device, not to another port of its own.
    devices = ";" in environment.get("LANEWISE_HCA_PORTS", "")
    hca_window_ms = 0 if devices else protection.retry_window_ms
    variables = {
        "LD_PRELOAD": preloading([find_library(LIBRARY, environment)], environment),
        "LANEWISE_PROTECT_POLICY": protection.policy,
        "LANEWISE_PROTECT_FAILBACK_DELAY_MS": f"{protection.failback_delay_ms:d}",
        "LANEWISE_PROTECT_RETRY_WINDOW_MS": f"{protection.retry_window_ms:d}",
        "LANEWISE_HCA_RETRY_WINDOW_MS": f"{hca_window_ms:d}",
        "LANEWISE_HCA_PROTECTED": "1" if hca_window_ms else "0",
    }
    if protection.path_file is not None:
        variables["LANEWISE_PROTECT_PATHS"] = str(protection.path_file)
    if protection.report is not None:
        variables["LANEWISE_PROTECT_REPORT"] = str(protection.report)
    if protection.strict:
        variables["LANEWISE_PROTECT_STRICT"] = "1"
    return variables
