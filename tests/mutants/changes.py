# SPDX-License-Identifier: BSD-3-Clause
"""The small changes that a mutation run makes to C++ sources, and where.

A change replaces a few characters of one line.  The operators are those that mutation testing has
used since Mothra (King and Offutt, "A Fortran Language System for Mutation-Based Software Testing",
1991) and that find most for their number: relations, arithmetic, logic, constants, conditions,
removed statements and swapped arguments.  Sources are laid out by clang-format, so a `<` between
spaces is a comparison and not a template.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """The replacement of `old`, which begins at `column` of a line (from 0), by `new`."""

    path: str
    line: int
    column: int
    old: str
    new: str
    kind: str
    text: str  # the whole line, stripped
    indent: int  # of the line, in characters
    repeat: int  # how many lines of the same text stand above

    def apply(self, source: str) -> str:
        """Return `source` with the change made."""
        lines = source.split("\n")
        line = lines[self.line - 1]
        end = self.column + len(self.old)
        assert line[self.column : end] == self.old, f"{self.path}:{self.line} is another line"
        lines[self.line - 1] = line[: self.column] + self.new + line[end:]
        return "\n".join(lines)

    @property
    def mutated(self) -> str:
        """Return the line after the change, stripped."""
        start = self.column - self.indent
        return (self.text[:start] + self.new + self.text[start + len(self.old) :]).strip()

    def key(self) -> str:
        """Name the change so that it is the same after lines were added above it."""
        return f"{self.path}|{self.text}|{self.repeat}|{self.column - self.indent}|{self.new}"

    def draw(self, seed: int) -> str:
        """Return what decides the order in which changes are drawn."""
        return hashlib.sha256(f"{seed}|{self.key()}".encode()).hexdigest()


Replacement = Callable[[re.Match[str]], list[str]]


def _swap(table: dict[str, list[str]]) -> Replacement:
    return lambda found: table[found[0]]


def _neighbours(found: re.Match[str]) -> list[str]:
    value = int(found[0])
    return ["1"] if value == 0 else [str(value + 1), str(value - 1)]


def _negated(found: re.Match[str]) -> list[str]:
    condition = found[0]
    declares = ";" in condition or re.search(r"(?<![=!<>])=(?!=)", condition)
    return [] if declares or not balanced(condition) else [f"!({condition})"]


def _exchanged(found: re.Match[str]) -> list[str]:
    first, second = found[1], found[2]
    return [] if first == second else [f"{second}, {first}"]


def _removed(found: re.Match[str]) -> list[str]:
    return [";"] if balanced(found[0]) else []


def balanced(text: str) -> bool:
    """Tell whether every bracket that opens in `text` closes in it."""
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


_RELATIONS = {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="]}
_ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"]}
_ASSIGNED = {"+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="], "&=": ["|="]}
_STEPS = {"++": ["--"], "--": ["++"]}
_LOGIC = {"&&": ["||"], "||": ["&&"]}
_BITS = {"&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"]}
_SIMPLE = r"[\w.\[\]]+(?:->[\w.]+)?"

# An operator, where it applies, and what it puts there.
OPERATORS: list[tuple[str, re.Pattern[str], Replacement]] = [
    ("relation", re.compile(r"(?<= )(?:[<>]=?|[=!]=)(?= )"), _swap(_RELATIONS)),
    ("arithmetic", re.compile(r"(?<=[\w)\]] )[-+*/%](?= [\w(])"), _swap(_ARITHMETIC)),
    ("assignment", re.compile(r"(?<= )[-+*/|&]=(?= )"), _swap(_ASSIGNED)),
    ("step", re.compile(r"\+\+|--"), _swap(_STEPS)),
    ("logic", re.compile(r"(?<= )(?:&&|\|\|)(?= )"), _swap(_LOGIC)),
    ("bits", re.compile(r"(?<=[\w)\]] )(?:<<|>>|[&|])(?= [\w(])"), _swap(_BITS)),
    ("constant", re.compile(r"(?<![\w.'\"<])\d{1,9}(?![\w.'>])"), _neighbours),
    ("condition", re.compile(r"(?<=if \().+(?=\) )|(?<=while \().+(?=\) )"), _negated),
    ("arguments", re.compile(rf"(?<=\w\()({_SIMPLE}), ({_SIMPLE})(?=\))"), _exchanged),
    ("statement", re.compile(r"^[\w.\->\[\]:*]+(?: [-+*/|&]?= .+|\(.*\));$"), _removed),
    ("statement", re.compile(r"(?:continue|break);$"), _removed),
]

# Lines that say how something is laid out or called, and do nothing.
_DECLARES = re.compile(
    r"^(?:#|using |namespace |template|static_assert|extern |case |public:|private:|return;|}|LW_)"
)
_LITERALS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|//.*|/\*.*?\*/")


def changes_of(path: str, source: str) -> Iterator[Change]:
    """Return every change of `source`, from its first line to its last."""
    comment = False
    seen: dict[str, int] = {}
    for number, line in enumerate(source.split("\n"), start=1):
        text = line.strip()
        repeat = seen.get(text, 0)
        seen[text] = repeat + 1
        if comment or text.startswith("/*"):
            comment = "*/" not in text
            continue
        if not text or text.startswith("//") or _DECLARES.match(text):
            continue
        indent = len(line) - len(line.lstrip())
        code = _LITERALS.sub(lambda found: "\0" * len(found[0]), text).rstrip("\0").rstrip()
        for kind, pattern, replace in OPERATORS:
            for found in pattern.finditer(code):
                old = text[found.start() : found.end()]
                for new in replace(found):
                    column = indent + found.start()
                    put = new if "\0" not in new else new.replace(found[0], old)
                    yield Change(path, number, column, old, put, kind, text, indent, repeat)
