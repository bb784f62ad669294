# SPDX-License-Identifier: BSD-3-Clause
"""No eight lines of what is no test stand in two places; where they do, both places are named.

Lines are compared without comments and white space.  A line without a word, such as a brace, does
not count, nor does one that only names other files, such as an import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tree

Plant = Callable[[dict[str, str]], Path]
Line = tuple[Path, int, str]

LINES = 8
FOLDERS = ("src", "include", "python/lanewise", "experiments")
OF_TESTS = re.compile(r"(?:^|/)testing(?:/|\.)|_(?:test|bench)\.|(?:^|/)conftest\.")

NATIVE_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PYTHON_COMMENT = re.compile(r"^\s*#[^\n]*", re.MULTILINE)
NAMES_FILES = re.compile(
    r"^\s*(?:#\s*include\b[^\n]*|import\s[^\n]*|from\s[\w.]+\simport\s(?:\([^)]*\)|[^\n]*))",
    re.MULTILINE,
)


def clones(root: Path) -> list[str]:
    """Return the places in which `LINES` lines or more repeat those of an earlier place."""
    lines = [line for path in sources(root) for line in counted(root, path)]
    earlier: dict[tuple[str, ...], int] = {}
    runs: list[tuple[int, int, int]] = []  # where the two begin, and how many lines are the same
    for at in range(len(lines) - LINES + 1):
        stretch = lines[at : at + LINES]
        if stretch[0][0] != stretch[-1][0]:
            continue
        first = earlier.setdefault(tuple(text for _, _, text in stretch), at)
        if first + LINES > at:
            continue
        one, other, count = runs[-1] if runs else (0, 0, 0)
        if other - one == at - first and other + count == at + LINES - 1:
            runs[-1] = (one, other, count + 1)
        else:
            runs.append((first, at, LINES))
    return [
        f"{place(lines, other, count)}: the same as {place(lines, one, count)}; "
        "let both use one piece of code"
        for one, other, count in runs
    ]


def sources(root: Path) -> list[Path]:
    """Return the files in `FOLDERS` that are neither tests nor what tests share."""
    return [
        path
        for path in tree.files(root, *tree.CODE)
        if any(path.is_relative_to(folder) for folder in FOLDERS)
        if not OF_TESTS.search(path.as_posix())
    ]


def counted(root: Path, path: Path) -> Iterator[Line]:
    """Return the lines that count, with their numbers, as words and signs with single blanks."""
    comment = PYTHON_COMMENT if path.suffix == ".py" else NATIVE_COMMENT
    text = (root / path).read_text(encoding="utf-8")
    for nothing in (comment, NAMES_FILES):
        text = nothing.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"\w", line):
            yield path, number, " ".join(line.split())


def place(lines: list[Line], begin: int, count: int) -> str:
    """Return the file and the numbers of the first and the last line."""
    path, first, _ = lines[begin]
    return f"{path}:{first}-{lines[begin + count - 1][1]}"


def test_no_code_stands_in_two_places() -> None:
    found = clones(tree.ROOT)

    assert not found, "\n".join(found)


CODE = [f"call_{number}();" for number in range(LINES + 2)]
APART = {
    "comments and blanks": "\n\n".join(f"  {line}  // why" for line in CODE),
    "braces": "\n{\n".join(CODE),
    "an include": "\n".join([*CODE[:5], '#include "b.hpp"', *CODE[5:]]),
}


@pytest.mark.parametrize("text", APART.values(), ids=APART.keys())
def test_a_second_copy_is_named_with_the_first_whatever_comes_between_its_lines(
    plant: Plant, text: str
) -> None:
    root = plant({"src/a.cpp": "\n".join(CODE), "src/x/b.cpp": "int b;\n" + text})

    (found,) = clones(root)

    assert found.startswith("src/x/b.cpp:")
    assert "the same as src/a.cpp:1-10;" in found


def test_copies_in_python_are_named_without_their_imports(plant: Plant) -> None:
    names = "from a import (\n    b,\n    c,\n)\nimport d\n"
    body = "".join(f"x = {number}  # a number\n" for number in range(LINES))
    root = plant({"python/lanewise/a.py": names + body, "python/lanewise/b.py": body})

    (found,) = clones(root)

    assert "python/lanewise/b.py:1-8" in found
    assert "python/lanewise/a.py:6-13" in found


FINE = {
    "seven lines": {"src/a.cpp": "\n".join(CODE[:7]), "src/b.cpp": "\n".join(CODE[:7])},
    "two tests": {"src/a_test.cpp": "\n".join(CODE), "src/testing/a.cpp": "\n".join(CODE)},
    "other folders": {"tests/a.py": "\n".join(CODE), "docs/site/a.py": "\n".join(CODE)},
    "a long row of one line": {"src/a.cpp": "0,\n" * (LINES + 1)},
    "two files' ends": {"src/a.cpp": "\n".join(CODE), "src/b.cpp": CODE[0], "src/c.cpp": CODE[1]},
}


@pytest.mark.parametrize("files", FINE.values(), ids=FINE.keys())
def test_what_is_no_copy_passes(plant: Plant, files: dict[str, str]) -> None:
    assert clones(plant(files)) == []
