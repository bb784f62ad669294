# SPDX-License-Identifier: BSD-3-Clause
"""Quantity: seconds and bytes as a person reads them.

Times carry three significant digits and a decimal prefix (1.23 µs), sizes a binary prefix
(64 KiB), shares a percent sign.  The page, the plots and the tables all write numbers through here,
so that one number never appears in two spellings.
"""

from __future__ import annotations

import math

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
# A smaller share has an exponent, since nobody counts its zeros.
LEAST_PERCENT_IN_DIGITS = 1e-3
_SIZE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def three_digits(value: float) -> str:
    """Write a number with three significant digits and no exponent: 0.123, 12.3, 1230."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = float(f"{value:.3g}")
    places = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{places}f}"


def time_text(seconds: float | None) -> str:
    """Write seconds with a fitting unit, `1.23 µs`; a dash for a missing or undefined time."""
    if seconds is None or not math.isfinite(seconds):
        return "—"
    if seconds == 0:
        return "0 s"
    for scale, unit in _TIME_UNITS:
        if abs(seconds) >= scale * 0.9995:
            return f"{three_digits(seconds / scale)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def time_tick(seconds: float) -> str:
    """Write seconds at an axis, without trailing zeros: `10 µs`."""
    for scale, unit in _TIME_UNITS:
        if abs(seconds) >= scale * 0.9995:
            return f"{seconds / scale:.4g} {unit}"
    return "0" if seconds == 0 else f"{seconds / 1e-9:.4g} ns"


def size_text(size_bytes: float) -> str:
    """Write bytes with a binary prefix, `64 KiB`; at most two decimals, none where exact."""
    for scale, unit in _SIZE_UNITS:
        if size_bytes >= scale:
            return f"{size_bytes / scale:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{size_bytes:.0f} B"


def rate_text(bytes_per_s: float) -> str:
    """Write a rate with a decimal prefix, `1.23 GB/s`."""
    for scale, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= scale * 0.9995:
            return f"{three_digits(bytes_per_s / scale)} {unit}"
    return f"{three_digits(bytes_per_s)} B/s"


def percent_text(share: float) -> str:
    """Write a share of one as a percentage with two significant digits, `2.5 %` or `2.5e-07 %`."""
    percent = 100 * share
    if 0 < abs(percent) < LEAST_PERCENT_IN_DIGITS:
        return f"{percent:.1e} %"
    if percent == 0 or not math.isfinite(percent):
        return f"{percent:.0f} %"
    places = max(0, 1 - math.floor(math.log10(abs(percent))))
    return f"{percent:.{places}f} %"
