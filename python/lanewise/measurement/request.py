# SPDX-License-Identifier: BSD-3-Clause
"""What is to be measured, however the ranks come about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.files.whole import require_new


@dataclass(frozen=True)
class Request:
    """What to measure: operations by name, and options of the native program by name.

    `ranks` and `launches` are None where the machine decides; `output` is the file to write.
    """

    operations: Sequence[str]
    ranks: int | None = None
    launches: int | None = None
    output: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def refuse_output(request: Request) -> None:
    """Raise RequestError where the output exists, or cannot be written."""
    if request.output is not None:
        require_new(request.output)


def refuse_no_sizes(sizes: Any) -> None:
    """Raise RequestError for an empty list of sizes, which asks for no point."""
    if isinstance(sizes, Sized) and len(sizes) == 0:
        raise RequestError("sizes is empty; name some, or leave it out")


def positive(name: str, count: int | None) -> int | None:
    """Return a count, None where it was not given; RequestError unless it is whole and above 0."""
    if count is None:
        return None
    try:
        whole = index(count)
    except TypeError:
        raise RequestError(f"{name}={count!r} is not a whole number") from None
    if whole < 1:
        raise RequestError(f"{name}={whole} is not 1 or more")
    return whole
