# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a TOML file: what is unknown, missing or wrong in them is named with its line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from lanewise.errors import RequestError, cut
from lanewise.toml import quantities
from lanewise.toml.lines import Path, parse_with_lines
from lanewise.toml.quantities import Kind


def hint(name: str, known: list[str]) -> str:
    """Return what somebody may have meant by `name`."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"


def shown(value: object) -> str:
    """Write a value for an error, a long one cut off."""
    return cut(repr(value))


class Tables:
    """The values of one file, and where each stands."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        try:
            self.values, self.lines = parse_with_lines(text)
        except ValueError as error:
            raise RequestError(f"{where}: {error}") from None

    def refuse(self, path: Path, sentence: str) -> RequestError:
        """Return the error about what stands at `path`, or at what holds it."""
        while path and path not in self.lines:
            path = path[:-1]
        return RequestError(f"{self.where}:{self.lines.get(path, 1)}: {sentence}")

    def known(self, table: Any, path: Path, keys: Iterable[str]) -> None:
        """Refuse what is no table, or has another key than these."""
        if not isinstance(table, dict):
            raise self.refuse(path, f"{path[-1]} is not a table")
        for key in table:
            if key not in keys:
                sentence = f"unknown key {shown(key)}; {hint(key, list(keys))}"
                raise self.refuse((*path, key), sentence)

    def listed(self, name: str) -> list[tuple[dict[str, Any], Path]]:
        """Return the tables [[name]], each with its path."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.refuse((name,), f"{name}: write [[{name}]], with two brackets, before each")
        return [(table, (name, i)) for i, table in enumerate(value)]

    def needed(self, table: dict[str, Any], path: Path, key: str, remedy: str) -> Any:
        """Return a value that must be there."""
        if key not in table:
            raise self.refuse(path, f"{key} is missing: {remedy}")
        return table[key]

    def quantity(
        self, table: dict[str, Any], path: Path, key: str, kind: Kind, *, least: float = 0.0
    ) -> float:
        """Return a quantity in its base unit, 0 where there is none."""
        return self.checked_quantity(table[key], (*path, key), kind, least) if key in table else 0.0

    def checked_quantity(self, value: Any, path: Path, kind: Kind, least: float) -> float:
        """Return a quantity in its base unit."""
        key = next(word for word in reversed(path) if isinstance(word, str))
        try:
            return quantities.parse(kind, value, least)
        except ValueError as error:
            raise self.refuse(path, f"{key} = {shown(value)} {error}") from None

    def whole(self, table: dict[str, Any], path: Path, key: str, default: int) -> int:
        """Return a whole number from 0 on."""
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
            sentence = f"{key} = {shown(value)} is not a whole number from 0 on"
            raise self.refuse((*path, key), sentence)
        return value

    def distinct(self, names: list[str], what: str, path: Callable[[int], Path]) -> None:
        """Refuse the second of two that are called alike."""
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.refuse(path(i), f"there are two {what}s '{name}'")
