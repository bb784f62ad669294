# SPDX-License-Identifier: BSD-3-Clause
"""The structures and enumerations of the public headers, and whether a copy in ctypes agrees.

A copy that has two members of one type the other way round has the size that the library asks for,
and gives it the wrong values.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from pathlib import Path

HEADERS = Path("include/lanewise")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"typedef struct (\w+) \{([^}]*)\} \1;")
_ENUM = re.compile(r"typedef enum (\w+) \{([^}]*)\} \1;")
_MEMBER = re.compile(r"(.*?)(\w+)$", re.DOTALL)
# A type of C, and what it is in ctypes; every other pointer is a c_void_p, every enumeration a
# c_int, and every function a c_void_p or a type that CFUNCTYPE has made.
_TYPES: Mapping[str, type] = {
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "const char *": ctypes.c_char_p,
}

Members = list[tuple[str, str]]


def structures(root: Path) -> dict[str, Members]:
    """Return (name, type) of the members of each structure in the public headers, in order."""
    return {match[1]: _members(match[2]) for match in _STRUCT.finditer(_text(root))}


def enumerations(root: Path) -> dict[str, dict[str, int]]:
    """Return the values of each enumeration in the public headers, by their names."""
    return {match[1]: _values(match[2]) for match in _ENUM.finditer(_text(root))}


def copy_offences(root: Path, copy: type[ctypes.Structure]) -> list[str]:
    """Return what a class of ctypes has otherwise than the structure that its docstring names."""
    name = (copy.__doc__ or "").rstrip(".")
    members = structures(root).get(name)
    if members is None:
        return [f"{copy.__name__}: its docstring, {name!r}, is no structure in {HEADERS}/"]
    names, copied = [member for member, _ in members], [field[0] for field in copy._fields_]
    if names != copied:
        return [f"{copy.__name__}: {name} has {', '.join(names)}, in this order"]
    pairs = zip(members, copy._fields_, strict=True)
    return [
        f"{copy.__name__}.{member}: is {kind} in {name}"
        for (member, kind), field in pairs
        if not _is_copy(root, kind, field[1])
    ]


def _is_copy(root: Path, kind: str, copied: type) -> bool:
    if kind in _TYPES:
        return copied is _TYPES[kind]
    if kind in enumerations(root):
        return copied is ctypes.c_int
    if kind in structures(root):
        return issubclass(copied, ctypes.Structure) and copied.__doc__ == f"{kind}."
    made = kind.endswith("_fn") and hasattr(copied, "restype")
    return made or copied is ctypes.c_void_p


def _text(root: Path) -> str:
    headers = sorted((root / HEADERS).glob("*.h"))
    return "\n".join(_COMMENT.sub("", path.read_text(encoding="utf-8")) for path in headers)


def _members(body: str) -> Members:
    declared = [" ".join(text.split()) for text in body.split(";") if text.strip()]
    matches = [_MEMBER.match(text) for text in declared]
    return [(match[2], match[1].strip()) for match in matches if match]


def _values(body: str) -> dict[str, int]:
    found: dict[str, int] = {}
    value = -1
    for text in body.split(","):
        name, _, given = (part.strip() for part in text.partition("="))
        value = int(given, 0) if given else value + 1
        if name:
            found[name] = value
    return found
