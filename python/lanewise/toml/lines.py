# SPDX-License-Identifier: BSD-3-Clause
"""Which line of a TOML text each key stands on.

The parser of the standard library gives values without places.  The text is therefore cut into its
statements, which end with their lines unless a bracket or a string is open, and each is parsed
alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SyntaxFault = tomllib.TOMLDecodeError

Path = tuple[str | int, ...]
# Strings and comments, which hide brackets and ends of lines; and those that they do not hide.
_TOKEN = re.compile(
    r"""
    \"{3} (?: [^\\] | \\. )*? \"{3,5} | \'{3} .*? \'{3,5}
    | " (?: [^"\\\n] | \\. )* " | ' [^'\n]* '
    | \# [^\n]* | [\[\]{}\n]
    """,
    re.DOTALL | re.VERBOSE,
)
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1  # of TOML; the parser takes any


def parse_with_lines(text: str) -> tuple[dict[str, Any], dict[Path, int]]:
    """Return the values of a TOML text, and the line (from 1) of each path in them.

    Raises ValueError, whose message has the line: SyntaxFault where the text is no TOML.
    """
    try:
        return tomllib.loads(text), _places(text)
    except SyntaxFault:
        raise
    except RecursionError:
        why = "values are nested too deeply"
    except ValueError:
        why = "a number has too many digits"
    raise ValueError(f"{why} (at line {_line_that_is_too_much(text)})")


def _places(text: str) -> dict[Path, int]:
    found: dict[Path, int] = {(): 1}
    table: Path = ()
    last: dict[Path, int] = {}
    for line, statement in _statements(text):
        paths = _paths(tomllib.loads(statement), ())
        if statement.lstrip().startswith("["):
            table = _table_of(paths[-1], last)
            below = [table[: count + 1] for count in range(len(table))]
        else:
            below = [(*table, *path) for path in paths]
        for path in below:
            found.setdefault(path, line)
    return found


def _table_of(header: Path, last: dict[Path, int]) -> Path:
    """Return the table that a header opens, where `last` has the last index of each array.

    A header parsed alone has the index 0 where it adds a table to an array, and none elsewhere.
    """
    table: Path = ()
    for word in header:
        if isinstance(word, int):
            last[table] = last.get(table, -1) + 1
            table = (*table, last[table])
            continue
        if table in last:
            table = (*table, last[table])
        table = (*table, word)
    return table


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement, comment and blank line of a text with the line on which it begins."""
    text = text.replace("\r\n", "\n") + "\n"
    begin, begin_line, line, depth = 0, 1, 1, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        depth += (token in "[{") - (token in "]}")
        line += token.count("\n")
        if token == "\n" and depth == 0:
            yield begin_line, text[begin : match.start()]
            begin, begin_line = match.end(), line
    if depth:  # of a text that nests too deeply for the parser to see that it has no end
        yield begin_line, text[begin:]


def _line_that_is_too_much(text: str) -> int:
    return next((line for line, statement in _statements(text) if _is_too_much(statement)), 1)


def _is_too_much(statement: str) -> bool:
    try:
        _paths(tomllib.loads(statement), ())
    except (RecursionError, ValueError):
        return True
    return False


def _paths(value: Any, path: Path) -> list[Path]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        raise ValueError("a number has too many digits")
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    inner = [deeper for key, below in items for deeper in _paths(below, (*path, key))]
    return [path, *inner]
