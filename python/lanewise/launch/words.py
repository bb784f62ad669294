# SPDX-License-Identifier: BSD-3-Clause
"""Lists of words that a program in Python gives, such as the words of a command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lanewise.errors import RequestError, unusable_in


def listed(name: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words; RequestError for one text, whose letters would be taken for words."""
    if isinstance(words, str):
        raise RequestError(f"{name}={words!r} is no list; say {name}={words.split()!r}")
    return tuple(words)


def refuse_unusable(words: Iterable[object]) -> None:
    """Raise RequestError where a word of a command line contains what no argument may."""
    for word in (str(word) for word in words):
        if unusable := unusable_in(word):
            raise RequestError(f"an argument cannot contain {unusable}, as in {word!r}")
