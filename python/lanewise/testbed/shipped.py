# SPDX-License-Identifier: BSD-3-Clause
"""Find a description: a file of the user's, or one that Lanewise comes with, by its name."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from lanewise.errors import RequestError
from lanewise.testbed.bed import Source
from lanewise.toml.text import read_text

FILES = Path(__file__).with_name("files")
# It becomes part of paths in scripts, and of the name of a folder that is not hidden.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def names() -> list[str]:
    """Return the names of the descriptions that Lanewise comes with."""
    return sorted(path.stem for path in FILES.glob("*.toml"))


def find(given: str) -> Source:
    """Return the description called `given`: a path, or a shipped name with or without .toml."""
    path = Path(given)
    name = path.name.removesuffix(".toml")
    if not path.is_file() and given in (name, f"{name}.toml") and name in names():
        path = FILES / f"{name}.toml"
    close = difflib.get_close_matches(name, names(), n=1)
    hint = f"did you mean {close[0]}?" if close else f"shipped are {', '.join(names())}"
    text = read_text(path, hint, called=given)
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{given}: '{name}' is not a name for a testbed; rename the file: letters, digits and "
            "any of . _ -, and neither . nor - as the first"
        )
    return Source(text, name, path.name)
