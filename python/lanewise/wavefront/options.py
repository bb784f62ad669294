# SPDX-License-Identifier: BSD-3-Clause
"""Options: what is asked of a run, as <lanewise/wavefront.h> takes it."""

from __future__ import annotations

import ctypes
import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lanewise.errors import RequestError
from lanewise.wavefront import library as native

Directions = str | Sequence[str]
Borders = str | Mapping[str, str]

NEVER = -1.0
# Counts of the library have 64 bits, and are added to others; threads have 32.
_MOST = 2**63 - 1
_MOST_THREADS = 2**32 - 1
# As src/base/sizes.hpp has it.
_SIZE = re.compile(r"([0-9]+)(?:([KMGTk])(?:i?B)?|B)?")
_POWERS = {None: 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass(frozen=True)
class Rates:
    """How fast a disk and a kernel are; 0 where that is not known.

    Where all are known, a run chooses as many waves as hide the disk, and a plan says how long it
    takes.  `cells_per_s` are updates of cells in a second on all threads.
    """

    read_bytes_per_s: float = 0.0
    write_bytes_per_s: float = 0.0
    cells_per_s: float = 0.0


@dataclass(frozen=True)
class Ending:
    """What ends a run before its last iteration."""

    tolerance: float | None = None
    until: str | None = None
    rtol: float = 0.0
    atol: float = 0.0


def size_bytes(size: str | float | Fraction) -> int:
    """Return "2GiB", or a whole number of bytes, in bytes; units are powers of 1024.

    RequestError for anything else.
    """
    number = _whole(_parsed(size) if isinstance(size, str) else size)
    if number is None or number < 0:
        raise RequestError(f"memory is a whole number of bytes, such as 2**30, not {_shown(size)}")
    if number > _MOST:
        raise RequestError(f"memory is at most {_MOST} bytes; give less")
    return number


def _whole(number: float | Fraction) -> int | None:
    """Return a number as an int, None where it is not whole or is no number."""
    is_whole_float = isinstance(number, (float, np.floating)) and number.is_integer()
    if is_whole_float or (isinstance(number, Fraction) and number.denominator == 1):
        return int(number)
    return _index(number)


def _index(number: Any) -> int | None:
    try:
        return operator.index(number)
    except TypeError:
        return None


def _shown(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # Python writes thousands of digits only where it is told to.
        return "a number of thousands of digits"


def _parsed(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise RequestError(
            f"memory {text!r} is not a size, which is a whole number of B, KiB, MiB, GiB or TiB; "
            "try '1536MiB' or '2GiB'"
        )
    digits = match[1].lstrip("0") or "0"
    # Python reads thousands of digits only where it is told to; so many are too much in any case.
    return int(digits[: len(str(_MOST)) + 1]) << 10 * _POWERS[match[2]]


def run_options(  # noqa: PLR0913
    iterations: int,
    *,
    memory: str | float,
    threads: int = 0,
    waves: int = 0,
    ending: Ending = Ending(),
    directions: Directions = "down-right",
    borders: Borders = "fixed",
    pause_every: int = 0,
    check_finite: int = 0,
    rates: Rates = Rates(),
) -> native.RunOptions:
    """Return the options of a run; RequestError for a tolerance, a size or a count that is none."""
    return native.RunOptions(
        struct_size=ctypes.sizeof(native.RunOptions),
        threads=whole_number("threads", threads, _MOST_THREADS),
        iterations=whole_number("iterations", iterations, _MOST),
        memory_bytes=size_bytes(memory), waves=whole_number("waves", waves, _MOST),
        tolerance=_tolerance(ending.tolerance),
        check_finite=check_finite, directions=_directions(directions), borders=_borders(borders),
        until=text_bytes("until", ending.until) if ending.until else None,
        rtol=ending.rtol, atol=ending.atol,
        pause_every=whole_number("pause_every", pause_every, _MOST),
        read_bytes_per_s=rates.read_bytes_per_s, write_bytes_per_s=rates.write_bytes_per_s,
        cells_per_s=rates.cells_per_s,
    )  # fmt: skip


def whole_number(name: str, count: int, most: int, least: int = 0) -> int:
    """Return a count; RequestError where it is no whole number from `least` to `most`."""
    number = _index(count)
    if number is None or not least <= number <= most:
        raise RequestError(f"{name} is a whole number from {least} to {most}, not {_shown(count)}")
    return number


def text_bytes(name: str, text: str) -> bytes:
    """Return a text as the library takes it, which ends one at a NUL.

    RequestError where it is no text, or has what cannot be printed.
    """
    if not isinstance(text, str) or not text.isprintable():
        raise RequestError(f"{name} is a text of printable characters, not {text!r}")
    return text.encode()


def _tolerance(tolerance: float | None) -> float:
    if tolerance is None:
        return NEVER
    if not 0.0 <= tolerance < math.inf:
        raise RequestError(f"tolerance {tolerance} is not 0 or above; None means never")
    return tolerance


def _directions(directions: Directions) -> bytes:
    joined = directions if isinstance(directions, str) else ",".join(directions)
    return text_bytes("directions", joined)


def _borders(borders: Borders) -> bytes:
    if isinstance(borders, str):
        return text_bytes("borders", borders)
    sides = ",".join(f"{side}={kind}" for side, kind in borders.items())
    return text_bytes("borders", sides or "fixed")
