# SPDX-License-Identifier: BSD-3-Clause
"""Numbers on the command line, refused by value and with an example of a good one."""

from __future__ import annotations

import math

from lanewise.errors import RequestError


def positive_count(option: str, text: str) -> int:
    """Parse a whole number from 1 up; RequestError that names `option` and `text`."""
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise RequestError(f"{option} {text} is not a whole number from 1 up; try {option} 4")
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
