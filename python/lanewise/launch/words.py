# SPDX-License-Identifier: BSD-3-Clause
"""Lists of words that a program in Python gives, such as the words of a command line."""

from __future__ import annotations

from collections.abc import Sequence

from lanewise.errors import RequestError


def listed(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words; RequestError for one text, whose letters would be taken for words."""
    if isinstance(words, str):
        raise RequestError(f"{name}={words!r} is no list; say {name}={words.split()!r}")
    return tuple(words)
