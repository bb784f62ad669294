# SPDX-License-Identifier: BSD-3-Clause
"""Read paths.json: which ports hosts have, and which of them reach each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.schemas import object_in, require

SCHEMA_NAME = "lanewise-paths"
AGAIN = "write it again: lanewise rdma discover"


def load(path: Path) -> dict[str, Any]:
    """Return the values of a path file; RequestError that names the file and the key."""
    values = object_in(path, missing=f"lanewise rdma discover -o {path} writes it", damaged=AGAIN)
    if values.get("schema") != SCHEMA_NAME:
        raise RequestError(f"{path} is not a path file; write one with: lanewise rdma discover")
    require(values, "paths", str(path), remedy=AGAIN)
    return values
