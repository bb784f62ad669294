# SPDX-License-Identifier: BSD-3-Clause
"""Which line of a TOML text each key stands on.

The parser of the standard library gives values without places.  The text is parsed again up to
each of its lines: what is new since the last line at which it could be parsed stands on the lines
between.  That is quadratic, and a description has some dozens of lines.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SyntaxFault = tomllib.TOMLDecodeError

Path = tuple[str | int, ...]


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
    found: dict[Path, int] = {}
    begin = 1
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        try:
            so_far = tomllib.loads("".join(lines[:number]))
        except SyntaxFault:
            continue
        for path in _paths(so_far, ()):
            found.setdefault(path, begin)
        begin = number + 1
    return found


def _line_that_is_too_much(text: str) -> int:
    lines = text.splitlines(keepends=True)
    ends = range(1, len(lines))
    return next((end for end in ends if _is_too_much("".join(lines[:end]))), len(lines))


def _is_too_much(text: str) -> bool:
    try:
        _paths(tomllib.loads(text), ())
    except SyntaxFault:
        return False
    except (RecursionError, ValueError):
        return True
    return False


def _paths(value: Any, path: Path) -> list[Path]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    inner = [deeper for key, below in items for deeper in _paths(below, (*path, key))]
    return [path, *inner]
