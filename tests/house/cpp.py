# SPDX-License-Identifier: BSD-3-Clause
"""Reads C and C++ just well enough to know includes and where functions begin and end.

Comments, strings and preprocessor lines are blanked out, keeping line numbers; then braces are
followed outside of functions.  A brace opens a function where the text before it, back to the last
statement, ends as a declarator does: `)`, a qualifier, a trailing return type, or the last member
of a constructor's initialisers.  A brace that opens a class or namespace is entered; any other is
an initialiser and is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """A function's name and its first and last line, counted from 1."""

    name: str
    first: int
    last: int

    @property
    def length(self) -> int:
        """Return the number of lines."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Include:
    """An include: the line, the name, and whether it stood in quotes."""

    line: int
    name: str
    quoted: bool


_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

_BLANKED = re.compile(
    r"""
      //(?:\\\n|[^\n])*                                  # a comment to the end of the line
    | /\*.*?\*/                                          # a comment in stars
    | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"       # a raw string
    | "(?:\\.|[^"\\\n])*"                                # a string
    | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'                # a character, not a digit separator
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)

_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b")
_DECLARATOR_END = re.compile(r"(?:\)|\b(?:const|noexcept|override|final|mutable|try)|[)\s]&&?)$")
_TRAILING_RETURN = re.compile(r"\)[^()]*->[^;={}]*$")
_NAME = re.compile(r"([~\w:]+|operator\s*\S{1,3})\s*\(")


def includes(text: str) -> list[Include]:
    """Return the include directives of `text`."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _INCLUDE.match(line)
        if match:
            found.append(Include(number, match[2], quoted=match[1] == '"'))
    return found


def blank(text: str) -> str:
    """Return `text` without comments, strings and directives, with the same line breaks."""

    def breaks(match: re.Match[str]) -> str:
        kept = "\n" * match[0].count("\n")
        return '""' + kept if match[0][0] in "\"'R" else " " + kept

    text = _BLANKED.sub(breaks, text)
    return _DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), text)


def functions(text: str) -> list[Function]:
    """Return the functions with a body in `text`, in order; lambdas belong to their function."""
    code = blank(text)
    found: list[Function] = []
    header_at = at = 0
    while at < len(code):
        if code[at] in ";}":
            header_at = at + 1
        elif code[at] == "{":
            header = code[header_at:at].strip()
            end = _closing(code, at)
            if _opens_function(header):
                found.append(_function(code, header_at, end))
                at, header_at = end, end + 1
            elif _opens_scope(header):
                header_at = at + 1
            else:
                at = end
        at += 1
    return found


def _opens_function(header: str) -> bool:
    if "(" not in header:
        return False
    after_member_initialisers = header.endswith("}") and ":" in header
    return bool(
        after_member_initialisers
        or _DECLARATOR_END.search(header)
        or _TRAILING_RETURN.search(header)
    )


def _opens_scope(header: str) -> bool:
    return bool(_SCOPE.search(header)) and not header.endswith("=")


def _closing(code: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return len(code) - 1


def _function(code: str, header_at: int, end: int) -> Function:
    first = header_at + len(code[header_at:]) - len(code[header_at:].lstrip())
    match = _NAME.search(code, first)
    name = match[1] if match else "?"
    return Function(name, code.count("\n", 0, first) + 1, code.count("\n", 0, end) + 1)
