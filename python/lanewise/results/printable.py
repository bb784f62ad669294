# SPDX-License-Identifier: BSD-3-Clause
"""Text of a result file, which may come from anywhere, as it may be shown."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Return a text in which nothing moves the cursor or turns the direction of writing."""
    return "".join(one if is_shown(one) else "\N{REPLACEMENT CHARACTER}" for one in text)


def is_shown(character: str) -> bool:
    """Tell whether a character stands for itself on a terminal, blanks of any width included."""
    return character.isprintable() or unicodedata.category(character) == "Zs"
