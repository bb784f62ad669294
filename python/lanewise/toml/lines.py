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
# Comments and where strings begin, which hide brackets and ends of lines; and those not hidden.
_TOKEN = re.compile(r"""\"{3}|'{3}|["'\[\]{}\n]|#[^\n]*""")
# Where a string ends, after what is escaped in it.  One pattern for whole strings would take memory
# for each letter, and look through the rest of the text for each that does not end.
_ENDS = {
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
    '"': re.compile(r'\\.|"|(?=\n)'),
    "'": re.compile(r"'|(?=\n)"),
}
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1  # of TOML; the parser takes any
TOO_LARGE = "a whole number needs more than 64 bits; use one from -2^63 to 2^63-1"


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
        why = TOO_LARGE
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
    for token, at, end in _tokens(text):
        depth += (token in "[{") - (token in "]}")
        line += text.count("\n", at, end)
        if token == "\n" and depth == 0:
            yield begin_line, text[begin:at]
            begin, begin_line = end, line
    if depth:  # of a text that nests too deeply for the parser to see that it has no end
        yield begin_line, text[begin:]


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each token, of a string its opening quotes, with where it begins and ends."""
    end = 0
    while match := _TOKEN.search(text, end):
        token, end = match[0], match.end()
        if token in _ENDS:
            end = _end_of_string(text, token, end)
        yield token, match.start(), end


def _end_of_string(text: str, quotes: str, begin: int) -> int:
    """Return where a string ends, else where its line or, after three quotes, the text does."""
    ends = (match.end() for match in _ENDS[quotes].finditer(text, begin) if match[0][:1] != "\\")
    return next(ends, len(text))


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
        raise ValueError(TOO_LARGE)
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    inner = [deeper for key, below in items for deeper in _paths(below, (*path, key))]
    return [path, *inner]
