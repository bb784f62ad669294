# SPDX-License-Identifier: BSD-3-Clause
"""The functions and files that ARCHITECTURE.md walks through are where it says.

A function with its file is written `name` (`place`) or `place: name`.  A place is a file or a
folder, by the end of its path, and may lack the suffix or have a `*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import tree

PAGE = "ARCHITECTURE.md"
# The table of files that Lanewise writes, and the trees of a build, name what git does not have.
ABOUT_OTHER_FILES = ("Files", "Builds", "Errors")

_SECTION = re.compile(r"^## ", re.MULTILINE)
_BESIDE = re.compile(r"`([\w:]+)` \(`([\w./*]+)`\)")
_BEFORE = re.compile(r"`([\w./]+): (\w+)`")
_PLACE = re.compile(r"`([\w.]+(?:/[\w.*]+)+|\w+\.[ch]pp)`")
# What stands before the name of a function that is defined: words of a return type, no others.
_WORD = (
    r"(?!(?:return|co_return|throw|else|do|case|default|new|delete)\b)"
    r"(?:[\w\[\"][\w:<>,*&\[\]\"]*|\*+[>,][\w:<>,*&]*)"
)
_TYPE = rf"{_WORD}(?: +{_WORD})*(?<!,) +\**"


def walk_offences(root: Path) -> list[str]:
    """Return the functions that are not defined where the page says, and places that are not."""
    text = "".join(sections((root / PAGE).read_text(encoding="utf-8")))
    pairs = [*_BESIDE.findall(text), *((name, place) for place, name in _BEFORE.findall(text))]
    if not pairs:
        return [f"{PAGE}: no function stands with its file, as in `main` (`tools/native.cpp`)"]
    known = tree.files(root, *tree.CODE)
    found = [
        f"{PAGE}: {name} is not defined in {place}; name the file that has it"
        for name, place in pairs
        if not any(defines(root / path, name) for path in files_at(known, place))
    ]
    places = dict.fromkeys(_PLACE.findall(text))
    found += [f"{PAGE}: there is no {place}" for place in places if not files_at(known, place)]
    return found


def sections(page: str) -> Iterator[str]:
    """Yield the sections of the page that are about the code, each with single blanks."""
    for section in _SECTION.split(page):
        if not section.startswith(ABOUT_OTHER_FILES):
            yield " ".join(section.split()) + "\n"


def files_at(known: list[Path], place: str) -> list[Path]:
    """Return the files of the tree that `place` names, or that lie in the folder that it names."""
    return [path for path in known if _is_at(path, place)]


def _is_at(path: Path, place: str) -> bool:
    ends = [path.as_posix(), path.with_suffix("").as_posix()]
    ends += [folder.as_posix() for folder in PurePosixPath(path).parents]
    return any(fnmatch(f"/{end}", f"*/{place}") for end in ends)


def defines(path: Path, name: str) -> bool:
    """Tell whether a file defines a function or class."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        method = name.rpartition("::")[2].rpartition(".")[2]
        return re.search(rf"^\s*(?:def|class) {method}\b", text, re.MULTILINE) is not None
    function = rf"^ *{_TYPE}{name}\([^;]*?\)[^;]*?\{{"
    kind = rf"^(?:class|struct) {name}\b[^;]*\{{"
    members = rf"^(?:{_TYPE})?{name}::~?\w+\("
    return any(re.search(one, text, re.MULTILINE) for one in (function, kind, members))
