# SPDX-License-Identifier: BSD-3-Clause
"""What every source file keeps to: its licence line, its name, its text."""

from __future__ import annotations

import re
from pathlib import Path

import tree

LINE_CHARACTERS_MAX = 100
# The guides, but for those that programs write.
GUIDES = Path("docs")
WRITTEN_GUIDES = ("experiments.md", "papers.md")
PROSE_CHARACTERS_MAX = 118
# The programs, which leave their work to the parts of the product.
MAINS = Path("src/tools")
MAIN_LINES_MAX = 100

LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
LICENCE_LINES = 3  # after an interpreter line, or inside the first comment

# What the names in #include "..." are relative to.
HEADER_FOLDERS = ("src", "include", ".")

VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "old", "new", "v2"}

# A line of the comment at the head of a native source, or an empty one, with the text in it.
_COMMENT = re.compile(r"\s*(?://|/\*|\*/?|$)\s*(.*)")
# What a guide has besides prose: examples, figures of experiments, tables, pictures and links.
_NO_PROSE = re.compile(
    r"^```.*?^```|^<!-- experiments.*?^<!-- end|^(?:\||!\[|\[\w+\]:|<!--)[^\n]*",
    re.MULTILINE | re.DOTALL,
)
_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)

# Names that a file gets from others where the files of a part are compiled together, and that are
# missing where each is compiled alone; and the header that declares each.
_DECLARED_IN = {"std::exchange": "<utility>"}

# A test of C++, whose name is a sentence with the name of its suite.
_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", re.MULTILINE)
_CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")

# In pieces, so that this file does not name what it forbids.
_UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def sources(root: Path) -> list[Path]:
    """Return every file that a person wrote in a programming language."""
    kinds = tree.files(root, *tree.CODE, *tree.SCRIPTS, ".css", ".js", ".map")
    return sorted({*kinds, *tree.named(root, *tree.SCRIPT_NAMES)})


def licence_offences(root: Path) -> list[str]:
    """Return the sources without the SPDX line at their head."""
    return [
        f"{path}:1: begin with a comment that says {LICENCE}"
        for path in sources(root)
        if not any(LICENCE in line for line in tree.lines(root, path)[:LICENCE_LINES])
    ]


def head_offences(root: Path) -> list[str]:
    """Return the native sources that say nowhere what they are.

    A file says it in the comment at its head, or leaves that to the header of its own name, which
    it includes first; a test may leave it to the header of what it tests.
    """
    return [
        f"{path}:1: say at the head what this file is"
        for path in tree.files(root, *tree.NATIVE)
        if not _has_head(root, path) and not _header_has_head(root, path)
    ]


def name_offences(root: Path) -> list[str]:
    """Return the files and folders whose names say nothing."""
    found = set()
    for path in tree.files(root, *tree.TEXT):
        for depth, part in enumerate(path.parts, start=1):
            vague = VAGUE & set(re.split(r"[_.\-]", part.lower()))
            if vague:
                place = Path(*path.parts[:depth])
                found.add(f"{place}: '{vague.pop()}' names nothing; use a word of the field")
    return sorted(found)


def conflict_offences(root: Path) -> list[str]:
    """Return the lines that a merge left behind, in any text of the tree."""
    return [
        f"{path}:{number}: what a merge left behind; choose one side"
        for path in tree.files(root, *tree.TEXT)
        for number, line in enumerate(tree.lines(root, path), start=1)
        if line.startswith(("<<<<<<" + "< ", ">>>>>>" + "> "))
    ]


def line_offences(root: Path) -> list[str]:
    """Return the lines with tabs, trailing blanks, unfinished business, or too many characters."""
    found = []
    for path in sources(root):
        for number, line in enumerate(tree.lines(root, path), start=1):
            reason = _line_reason(line, tabs_mean_something=path.name == "Makefile")
            if reason:
                found.append(f"{path}:{number}: {reason}")
    return found


def main_offences(root: Path) -> list[str]:
    """Return the programs of the product that are more than a main."""
    return [
        f"{path}: {count} lines, at most {MAIN_LINES_MAX}; move what it does to the part it is of"
        for path in tree.files(root, ".cpp", ".hpp")
        if path.parent == MAINS and (count := len(tree.lines(root, path))) > MAIN_LINES_MAX
    ]


def include_offences(root: Path) -> list[str]:
    """Return the native sources that leave it to others to include what declares a name."""
    found = []
    for path in tree.files(root, *tree.NATIVE):
        own = [root / path, (root / path).with_suffix(".hpp")]
        text = "".join(one.read_text(encoding="utf-8") for one in own if one.exists())
        found += [
            f"{path}: {name} without #include {header}"
            for name, header in _DECLARED_IN.items()
            if name in text and f"#include {header}" not in text
        ]
    return found


def test_name_offences(root: Path) -> list[str]:
    """Return the tests of C++ whose suite or name is not in CamelCase."""
    return [
        f"{path}:{number}: write {suite}.{name} in CamelCase"
        for path in tree.files(root, ".cpp")
        for number, (suite, name) in _tests_in((root / path).read_text(encoding="utf-8"))
        if not (_CAMEL_CASE.fullmatch(suite) and _CAMEL_CASE.fullmatch(name))
    ]


def prose_offences(root: Path) -> list[str]:
    """Return the lines of guides whose prose is too wide."""
    found = []
    for path in tree.files(root, ".md"):
        if path.parent != GUIDES or path.name in WRITTEN_GUIDES:
            continue
        text = (root / path).read_text(encoding="utf-8")
        prose = _NO_PROSE.sub(lambda other: "\n" * other[0].count("\n"), text)
        found += [
            f"{path}:{number}: {len(line)} characters, at most {PROSE_CHARACTERS_MAX}"
            for number, line in enumerate(prose.splitlines(), start=1)
            if len(line) > PROSE_CHARACTERS_MAX
        ]
    return found


def _tests_in(text: str) -> list[tuple[int, tuple[str, str]]]:
    """Return (line, (suite, name)) of each test."""
    return [
        (text.count("\n", 0, match.start(1)) + 1, (match[1], match[2]))
        for match in _TEST.finditer(text)
    ]


def _has_head(root: Path, path: Path) -> bool:
    for line in tree.lines(root, path):
        comment = _COMMENT.match(line)
        if comment is None:
            return False
        if comment[1] and LICENCE not in line:
            return True
    return False


def _header_has_head(root: Path, path: Path) -> bool:
    """Tell whether the first file that `path` includes is its header, and says what it is."""
    included = _INCLUDED.search((root / path).read_text(encoding="utf-8"))
    if included is None or Path(included[1]).stem != path.stem.removesuffix("_test"):
        return False
    places = [Path(folder, included[1]) for folder in HEADER_FOLDERS]
    return any((root / place).exists() and _has_head(root, place) for place in places)


def _line_reason(line: str, *, tabs_mean_something: bool) -> str:
    if len(line) > LINE_CHARACTERS_MAX:
        return f"{len(line)} characters, at most {LINE_CHARACTERS_MAX}"
    if "\t" in line and not tabs_mean_something:
        return "a tab; indent with spaces"
    if line != line.rstrip():
        return "blanks at the end of the line"
    if _UNFINISHED.search(line):
        return "unfinished business belongs in an issue"
    return ""
