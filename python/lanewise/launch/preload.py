# SPDX-License-Identifier: BSD-3-Clause
"""LD_PRELOAD with libraries of ours in it: the one place that makes it, and knows its limits."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from lanewise.errors import RequestError

SEPARATORS = {" ": "a space", ":": "a colon"}
_LOADERS = ("ld.so", "ld64.so", "ld-linux", "ld-musl")  # how their names begin
_INTERPRETER = 3  # PT_INTERP of elf.h: the loader, by which LD_PRELOAD is read
_BITS_64, _BITS_32 = b"\x02", b"\x01"
# Where the program headers are, their size and their number, and the size of what is before them.
_HEADS = {_BITS_64: ("32xQ14xHH", 58), _BITS_32: ("28xI10xHH", 46)}


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


def obstacle(program: str) -> str:
    """Return why libraries cannot be preloaded into a program, empty where they can.

    Of what is no program of the system's own format, such as a script, nothing is said, nor of the
    loader, which preloads into the program that it is given.
    """
    if Path(program).name.startswith(_LOADERS):
        return ""
    try:
        with Path(program).open("rb") as file:
            status = os.fstat(file.fileno())
            kinds = _segments(file.read(1 << 16))
    except OSError:
        return ""
    if not kinds:
        return ""
    if _INTERPRETER not in kinds:
        return "it is linked statically"
    as_user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
    as_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
    return "it runs as another user or group" if as_user or as_group else ""


def _segments(head: bytes) -> list[int]:
    """Return the kinds of the segments of a program, none where it is not one of this machine."""
    if head[:4] != b"\x7fELF" or head[4:5] not in _HEADS:
        return []
    layout, size = _HEADS[head[4:5]]
    if len(head) < size:
        return []
    at, entry_bytes, count = struct.unpack(f"={layout}", head[:size])
    ends = range(at + 4, min(at + entry_bytes * count, len(head)) + 1, entry_bytes or 1)
    return [struct.unpack("=I", head[end - 4 : end])[0] for end in ends]
