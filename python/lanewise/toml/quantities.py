# SPDX-License-Identifier: BSD-3-Clause
"""Quantities with units, as descriptions of testbeds and options have them: "250 Mbit/s", "5 ms".

Rates are in bits or bytes a second, sizes in bytes, and the prefixes of the SI are powers of ten.
In descriptions a unit is always written.  In options, and in the arguments of programs in Python, a
bare duration is in seconds, a bare rate in bytes a second and a bare speed in operations a second.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lanewise.errors import RequestError

_NUMBER_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([^\s0-9.].*?)?\s*")

_DURATION = re.compile(r"((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?)\s*(ns|us|µs|ms|s|min|h|)")
_UNITS_S = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0,
}  # fmt: skip

_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_RATES = {
    f"{prefix}{unit}": factor * bits
    for unit, bits in (("bit/s", 1.0), ("b/s", 1.0), ("B/s", 8.0))
    for prefix, factor in _PREFIXES.items()
}
_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_SIZES = {
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of quantity: its units with their factors, and an example for those who err."""

    what: str
    units: dict[str, float]
    example: str
    most: float = math.inf


RATE = Kind("a rate", _RATES, "250 Mbit/s", most=1e12)
SPEED = Kind(
    "a speed", {f"{prefix}flop/s": factor for prefix, factor in _PREFIXES.items()}, "2 Gflop/s"
)
TIME = Kind("a time", _TIMES, "5 ms", most=1e12)
MOMENT = Kind("a time", _TIMES, "5 s", most=30 * 24 * _TIMES["h"])
SIZE = Kind("a size", _SIZES, "1 MiB", most=1e12)
SHARE = Kind("a share", {"%": 0.01}, "0.1 %", most=1.0)


def parse(kind: Kind, value: object, least: float = 0.0) -> float:
    """Return a quantity in its base unit: bits or operations a second, ns, bytes, or a fraction.

    Raises ValueError with a sentence that says what is wrong and shows how it is written.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f'is not {kind.what}, such as "{kind.example}"')
    match = _NUMBER_UNIT.fullmatch(str(value))
    if match is None:
        raise ValueError(f'is not {kind.what}, such as "{kind.example}"')
    number, unit = match.groups()
    if unit is None:
        raise ValueError(f'has no unit; write {kind.what} as in "{kind.example}"')
    if unit not in kind.units:
        known = ", ".join(kind.units)
        raise ValueError(f"has the unit '{unit}'; {kind.what} is in one of {known}")
    found = float(number) * kind.units[unit]
    if found > kind.most:
        raise ValueError("is more than can be emulated")
    if found < least:
        raise ValueError("is too small for a testbed")
    return found


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
            found = parse(kind, text) / base
        except ValueError:
            found = math.nan
    if not 0 < found < math.inf:
        raise RequestError(f"{option} {text} is not {kind.what} above 0; write {example}")
    return found


def rate_text(rate_bits_per_s: float) -> str:
    """Return a rate as a person writes it."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if rate_bits_per_s >= factor:
            return f"{rate_bits_per_s / factor:g} {unit}"
    return f"{rate_bits_per_s:g} bit/s"


def text_of(kind: Kind, value: float) -> str:
    """Return a quantity, given in the base unit of its kind, as a person writes it."""
    if kind is RATE:
        return rate_text(value)
    if kind is TIME:
        return time_text(value)
    return f"{100 * value:g} %" if kind is SHARE else size_text(value)


def size_text(size_bytes: float) -> str:
    """Return a size as a person writes it."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:g} {unit}"
    return f"{size_bytes:g} B"


def time_text(time_ns: float) -> str:
    """Return a time as a person writes it."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if time_ns >= factor:
            return f"{time_ns / factor:g} {unit}"
    return f"{time_ns:g} ns"
