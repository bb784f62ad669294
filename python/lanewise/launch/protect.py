# SPDX-License-Identifier: BSD-3-Clause
"""What protects a program's queue pairs: the environment that it is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.launch.hca import find_library

LIBRARY = "liblanewise_protect.so"
POLICIES = ("back", "stay", "balance")
QUIET_MS_MAX = 3_600_000


@dataclass(frozen=True)
class Protection:
    """How to protect: paths are absolute, None is not wanted."""

    path_file: Path | None = None
    report: Path | None = None
    policy: str = "back"
    quiet_ms: int = 1000
    grace_ms: int = 10_000
    strict: bool = False


def check(protection: Protection) -> None:
    """Raise RequestError for values that cannot be."""
    if protection.policy not in POLICIES:
        raise RequestError(f"--policy {protection.policy}: use {', '.join(POLICIES)}")
    for name, value in (("--quiet", protection.quiet_ms), ("--grace", protection.grace_ms)):
        if not 0 <= value <= QUIET_MS_MAX:
            raise RequestError(f"{name} {value}: say 0 to {QUIET_MS_MAX} ms")


def variables_for(protection: Protection, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add; ours stands before a preloaded device."""
    library = str(find_library(LIBRARY, environment))
    before = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    variables = {
        "LD_PRELOAD": ":".join([library, *(one for one in before if one != library)]),
        "LANEWISE_PROTECT_POLICY": protection.policy,
        "LANEWISE_PROTECT_QUIET_MS": str(protection.quiet_ms),
        "LANEWISE_HCA_GRACE_MS": str(protection.grace_ms),
    }
    if protection.path_file is not None:
        variables["LANEWISE_PROTECT_PATHS"] = str(protection.path_file)
    if protection.report is not None:
        variables["LANEWISE_PROTECT_REPORT"] = str(protection.report)
    if protection.strict:
        variables["LANEWISE_PROTECT_STRICT"] = "1"
    return variables
