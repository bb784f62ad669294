# SPDX-License-Identifier: BSD-3-Clause
"""LD_PRELOAD with libraries of ours in it: the one place that makes it, and knows its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lanewise.errors import RequestError

SEPARATORS = {" ": "a space", ":": "a colon"}


def preloading(libraries: Sequence[Path], environment: Mapping[str, str]) -> str:
    """Return LD_PRELOAD with `libraries` before those that it has; RequestError where it cannot."""
    for library in libraries:
        if cut := why_cut(library):
            raise RequestError(cut)
    ours = [str(library) for library in libraries]
    others = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    return ":".join([*ours, *(one for one in others if one not in ours)])


def why_cut(path: Path) -> str:
    """Return why libraries of this path cannot be preloaded; empty where they can."""
    found = [name for separator, name in SEPARATORS.items() if separator in str(path)]
    if not found:
        return ""
    return (
        f"{path} cannot be preloaded: LD_PRELOAD cuts it at {' and '.join(found)}; install "
        "Lanewise into a folder whose path has neither spaces nor colons"
    )
