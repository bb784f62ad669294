# SPDX-License-Identifier: BSD-3-Clause
"""The formats that are read: each module has a NAME, `detect` and `parse`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from lanewise.imports import imb, nccl, netpipe, osu, repro_mpi
from lanewise.imports.printed import Line, Output


class Format(Protocol):
    """What a module of a format has."""

    NAME: str

    def detect(self, head: str) -> bool:
        """Tell whether a text that begins with `head` is of this format."""

    def parse(self, lines: Iterable[Line], ranks: int = 0) -> Output:
        """Read the lines of a run on `ranks` ranks, 0 where nobody said how many."""


FORMATS: tuple[Format, ...] = (osu, imb, netpipe, nccl, repro_mpi)


def formats_of(head: str) -> list[Format]:
    """Return the formats of a text by its beginning: one, or several where tools were mixed."""
    return [one for one in FORMATS if one.detect(head)]


def names() -> str:
    """Return the names of all formats."""
    return ", ".join(one.NAME for one in FORMATS)
