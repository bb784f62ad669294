# SPDX-License-Identifier: BSD-3-Clause
"""Numbers on the command line, refused by value and with an example of a good one.

Every command reads them by the same grammar: counts, repetitions (`20` or `6:12`), durations with a
unit (`500ms`, `90s`, `5min`; a bare number is in seconds), rates (`1Gbit/s`, `125MB/s`; a bare
number is in bytes a second), and shares as a percentage or a fraction (`5%`, `0.05`).
"""

from __future__ import annotations

import math
import re

from lanewise.errors import RequestError
from lanewise.toml import quantities
from lanewise.toml.quantities import RATE, SPEED, Kind

COUNT_MAX = 2**31 - 1  # the largest that native programs take

_DURATION = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?)\s*(ns|us|µs|ms|s|min|h|)")
_UNITS_S = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0,
}  # fmt: skip


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


def duration_s(
    option: str, text: str, example: str = "90s, 5min or 1h", *, zero: bool = False
) -> float:
    """Parse a duration, above 0 unless `zero` may be, and return seconds.

    RequestError that names `option` and `text`.
    """
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS_S[found[2]] if found else -1.0
    if seconds < 0 or (seconds == 0 and not zero):
        raise RequestError(f"{option} {text} is not a duration; write {example}")
    return seconds


def rate_bytes_per_s(option: str, text: str) -> float:
    """Parse a rate above 0, and return bytes a second, which a bare number is in.

    RequestError that names `option` and `text`.
    """
    return _in_base_unit(option, text, RATE, 8.0, "1Gbit/s or 125MB/s")


def speed_flops(option: str, text: str) -> float:
    """Parse a speed above 0, and return operations a second, which a bare number is in.

    RequestError that names `option` and `text`.
    """
    return _in_base_unit(option, text, SPEED, 1.0, "2Gflop/s")


def _in_base_unit(option: str, text: str, kind: Kind, base: float, example: str) -> float:
    try:
        found = float(text)
    except ValueError:
        try:
            found = quantities.parse(kind, text) / base
        except ValueError:
            found = math.nan
    if not 0 < found < math.inf:
        raise RequestError(f"{option} {text} is not {kind.what} above 0; write {example}")
    return found


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
