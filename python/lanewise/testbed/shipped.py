# SPDX-License-Identifier: BSD-3-Clause
"""Find a description: a file of the user's, or one that Lanewise comes with, by its name."""

from __future__ import annotations

import difflib
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.testbed.bed import Source

FILES = Path(__file__).with_name("files")


def names() -> list[str]:
    """Return the names of the descriptions that Lanewise comes with."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def find(given: str) -> Source:
    """Return the description called `given`: a path, or a shipped name with or without .toml."""
    path = Path(given)
    name = path.name.removesuffix(".toml")
    if not path.is_file() and given in (name, f"{name}.toml") and name in names():
        path = FILES / f"{name}.toml"
    try:
        return Source(path.read_text(encoding="utf-8"), name, path.name)
    except (OSError, UnicodeDecodeError) as error:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"shipped are {', '.join(names())}"
        reason = getattr(error, "strerror", None) or "it is no text"
        raise RequestError(f"{given} cannot be read ({reason}); {hint}") from None
