# SPDX-License-Identifier: BSD-3-Clause
"""The structures and enumerations of the public headers, and whether a copy in ctypes agrees.

A copy that has two members of one type the other way round has the size that the library asks for,
and gives it the wrong values.
"""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tree

HEADERS = Path("include/lanewise")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"typedef struct (\w+) \{([^}]*)\} \1;")
_ENUM = re.compile(r"typedef enum (\w+) \{([^}]*)\} \1;")
_FUNCTION = re.compile(r"typedef ([^;{}()]*)\(\*(\w+_fn)\)\(([^()]*)\);")
# A member or an argument: a name behind its type.
_DECLARED = re.compile(r"((?:\w+ )+(?:\*(?:const )?)*)(\w+)")
# A member that is a pointer to a function without a type of its own.
_BARE_FUNCTION = re.compile(r"([^()]*)\(\*(\w+)\)(\([^()]*\))")
# A type of C, and what it is in ctypes; every other pointer is a c_void_p or a POINTER, every
# enumeration a c_int, and every function a c_void_p or a type that CFUNCTYPE has made.
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


def declared_copies(root: Path) -> list[tuple[str, str]]:
    """Return (module, class) of each structure of ctypes that the product declares."""
    return [
        (".".join(path.with_suffix("").parts[1:]), node.name)
        for path in tree.files(root, ".py")
        if path.parts[0] == "python"
        for node in ast.walk(ast.parse((root / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        if any(ast.unparse(base).split(".")[-1] == "Structure" for base in node.bases)
    ]


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
    if kind in _functions(root) and hasattr(copied, "_argtypes_"):
        return _is_function(root, _functions(root)[kind], copied)
    if kind.endswith("*") and issubclass(copied, ctypes._Pointer):
        return _is_copy(root, kind.removeprefix("const ").removesuffix("*").strip(), copied._type_)
    return copied is ctypes.c_void_p


def _is_function(root: Path, types: list[str], copied: Any) -> bool:
    """Tell whether a type of CFUNCTYPE has this result and these arguments."""
    made = [copied._restype_, *copied._argtypes_]
    return len(made) == len(types) and all(
        one is None if kind == "void" else one is not None and _is_copy(root, kind, one)
        for kind, one in zip(types, made, strict=True)
    )


def _functions(root: Path) -> dict[str, list[str]]:
    """Return the types of the result and of each argument of each `_fn` in the public headers."""
    return {
        match[2]: [match[1].strip(), *(_type_of(text) for text in match[3].split(","))]
        for match in _FUNCTION.finditer(_text(root))
    }


def _type_of(argument: str) -> str:
    """Return the type of an argument, which may have no name."""
    text = " ".join(argument.split())
    match = _DECLARED.fullmatch(text)
    return match[1].strip() if match else text


def _text(root: Path) -> str:
    headers = sorted((root / HEADERS).glob("*.h"))
    return "\n".join(_COMMENT.sub("", path.read_text(encoding="utf-8")) for path in headers)


def _members(body: str) -> Members:
    declared = [" ".join(text.split()) for text in body.split(";") if text.strip()]
    return [_member(text) for text in declared]


def _member(declared: str) -> tuple[str, str]:
    """Return (name, type); ValueError for what is no one member, as an array or several names."""
    if match := _BARE_FUNCTION.fullmatch(declared):
        return match[2], f"{match[1]}(*){match[3]}"
    if match := _DECLARED.fullmatch(declared):
        return match[2], match[1].strip()
    raise ValueError(f"'{declared};' in {HEADERS}/: this test reads only members 'TYPE NAME;'")


def _values(body: str) -> dict[str, int]:
    found: dict[str, int] = {}
    value = -1
    for text in body.split(","):
        name, _, given = (part.strip() for part in text.partition("="))
        value = int(given, 0) if given else value + 1
        if name:
            found[name] = value
    return found
