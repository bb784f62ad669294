# SPDX-License-Identifier: BSD-3-Clause
"""The files of a source tree, for the rules of the house.

A rule is a function from the root of a tree to a list of offences, each one line that names the
place and the remedy.  Tests run each rule on this repository and on a small tree with a fault.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

NATIVE = (".h", ".hpp", ".c", ".cpp")
CODE = (*NATIVE, ".py")
SCRIPTS = (".sh", ".cmake", ".toml")
SCRIPT_NAMES = ("Makefile", "CMakeLists.txt", "run", ".clang-tidy", "Dockerfile")
TEXT = (*CODE, *SCRIPTS, ".md", ".json", ".txt", ".map", ".def", ".html", ".css", ".js", ".cff")


def everything(root: Path) -> list[Path]:
    """Return the files under `root` that git would not ignore, sorted, relative to `root`."""
    return sorted(path.relative_to(root) for path in _walk(root, _ignored(root)))


def files(root: Path, *suffixes: str) -> list[Path]:
    """Return the files of the tree that have one of `suffixes`."""
    return [path for path in everything(root) if path.suffix in suffixes]


def named(root: Path, *names: str) -> list[Path]:
    """Return the files of the tree whose name is one of `names`."""
    return [path for path in everything(root) if path.name in names]


def entries(root: Path) -> list[str]:
    """Return the names in `root` itself that git would not ignore."""
    ignored = _ignored(root)
    return sorted(path.name for path in root.iterdir() if not _is_ignored(path, root, ignored))


def lines(root: Path, path: Path) -> list[str]:
    """Return the lines of a file of the tree."""
    return (root / path).read_text(encoding="utf-8").splitlines()


def _ignored(root: Path) -> list[str]:
    listed = root / ".gitignore"
    patterns = listed.read_text(encoding="utf-8").split() if listed.exists() else []
    return ["/.git", *(pattern.rstrip("/") for pattern in patterns)]


def _is_ignored(path: Path, root: Path, patterns: list[str]) -> bool:
    rooted = "/" + path.relative_to(root).as_posix()
    return any(
        fnmatch(rooted, pattern) if pattern.startswith("/") else fnmatch(path.name, pattern)
        for pattern in patterns
    )


def _walk(root: Path, patterns: list[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = [name for name in folders if not _is_ignored(here / name, root, patterns)]
        yield from (here / name for name in names if not _is_ignored(here / name, root, patterns))
