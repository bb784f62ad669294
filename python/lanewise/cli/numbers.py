# SPDX-License-Identifier: BSD-3-Clause
"""Numbers on the command line, refused by value and with an example of a good one.

Every command reads them by the same grammar: counts, repetitions (`20` or `6:12`), and shares as a
percentage or a fraction (`5%`, `0.05`).  Durations and rates are in lanewise/toml/quantities.py.
"""

from __future__ import annotations

import math

from lanewise.errors import RequestError

COUNT_MAX = 2**31 - 1  # the largest that native programs take


def positive_count(option: str, text: str) -> int:
    """Parse a whole number from 1 up; RequestError that names `option` and `text`."""
    try:
        count = int(text) if text.isascii() else 0
    except ValueError:
        count = 0
    if count < 1:
        raise RequestError(f"{option} {text} is not a whole number from 1 up; try {option} 4")
    if count > COUNT_MAX:
        raise RequestError(f"{option} {text} is above {COUNT_MAX}; try {option} 4")
    return count


def positive_number(option: str, text: str, example: str) -> float:
    """Parse a finite number above 0; RequestError that names `option` and `text`."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise RequestError(f"{option} {text} is not a number above 0; try {option} {example}")
    return number


def repetitions(option: str, text: str) -> tuple[int, int]:
    """Parse `20`, a fixed number, or `6:12`, and return both bounds.

    RequestError that names `option` and `text`.
    """
    words = text.split(":")
    counts = [int(word) if word.isascii() and word.isdigit() else 0 for word in words]
    if len(counts) not in (1, 2) or min(counts) < 1 or counts != sorted(counts):
        raise RequestError(f"{option} {text} is neither N nor MIN:MAX; write {option} 6:12")
    return counts[0], counts[-1]


def counted(count: int, what: str) -> str:
    """Return "1 point" or "2 points"; "pass" becomes "passes"."""
    ending = "" if count == 1 else "es" if what.endswith(("s", "ch")) else "s"
    return f"{count} {what}{ending}"


def share(option: str, text: str) -> float:
    """Parse `5%` or `0.05`; RequestError for anything else, as a bare 5, which could mean both."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (value >= 1 and not text.endswith("%")):
        raise RequestError(f"{option} '{text}' is not a share; write 5% or 0.05")
    return value
