# SPDX-License-Identifier: BSD-3-Clause
"""Read platform.json, whichever version of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import has_version, object_in, require

SCHEMA_NAME = "lanewise-platform"
SCHEMA_VERSION = 3
AGAIN = "fit it again: lanewise model fit"


def load(path: str | Path) -> dict[str, Any]:
    """Return the values of a platform file; RequestError that names the file and the key."""
    path = Path(path)
    values = object_in(path, missing=f"lanewise model fit -o {path} writes it", damaged=AGAIN)
    if values.get("schema") != SCHEMA_NAME:
        raise RequestError(f"{path} is not a platform file of lanewise model fit; name one")
    if has_version(values, 1):
        values = as_version_2(values)
    if has_version(values, 2):
        values = {**values, "version": SCHEMA_VERSION}  # which only adds the ranges of LMO
    require(values, "platform", str(path), remedy=AGAIN)
    return values


def as_version_2(values: Any) -> Any:
    """Return the content of a version 1, which called the launcher and the test otherwise."""
    names = {"fabric": "launcher", "held_back": "held_out"}

    def renamed(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {names.get(key, key): renamed(held) for key, held in inner.items()}
        return [renamed(held) for held in inner] if isinstance(inner, list) else inner

    return {**renamed(values), "version": 2}
