# SPDX-License-Identifier: BSD-3-Clause
"""Curves: time against message size, a band for the interval of each median.

Both axes are logarithmic unless asked otherwise.  A size of zero has no place
on a logarithmic axis and stands two octaves left of the smallest size, under
the tick `0`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from lanewise.plots.series import line_look
from lanewise.plots.style import house_style, make_panels
from lanewise.results.quantity import size_text, time_tick
from lanewise.results.records import Point

Scale = Literal["log", "linear"]

MARKED_MAX = 40  # points of a curve; markers of more would hide the line


@dataclass(frozen=True)
class Curve:
    """One curve: `sizes_bytes`, `median_s` and the interval, all of one length."""

    label: str
    sizes_bytes: Sequence[float]
    median_s: Sequence[float]
    low_s: Sequence[float] | None = None
    high_s: Sequence[float] | None = None


def curve_of(label: str, points: Iterable[Point]) -> Curve:
    """Return the curve of measured `points`, sorted by size."""
    ordered = sorted(points, key=lambda point: point.message_bytes)
    return Curve(
        label,
        [point.message_bytes for point in ordered],
        [point.centre_s for point in ordered],
        [point.low_s for point in ordered],
        [point.high_s for point in ordered],
    )


@house_style()
def draw_curves(panels: Sequence[tuple[str, Sequence[Curve]]], scale: Scale = "log") -> Figure:
    """Draw one panel of curves for each (title, curves) pair, side by side."""
    figure, axes = make_panels(len(panels))
    for panel, (title, curves) in zip(axes, panels, strict=True):
        panel.set_title(title)
        _draw_panel(panel, curves, scale)
    axes[0].set_ylabel("time")
    return figure


def zero_place(sizes_bytes: Sequence[float]) -> float:
    """Where zero stands on a logarithmic axis that shows `sizes_bytes`."""
    positive = [size for size in sizes_bytes if size > 0]
    return min(positive) / 4 if positive else 1.0


def _draw_panel(panel: Axes, curves: Sequence[Curve], scale: Scale) -> None:
    sizes = [size for curve in curves for size in curve.sizes_bytes]
    zero = zero_place(sizes) if scale == "log" else 0.0
    for index, curve in enumerate(curves):
        places = [size if size > 0 else zero for size in curve.sizes_bytes]
        look = line_look(index) | ({} if len(places) <= MARKED_MAX else {"marker": ""})
        panel.plot(places, curve.median_s, **look, label=curve.label)
        if curve.low_s is not None and curve.high_s is not None:
            panel.fill_between(
                places, curve.low_s, curve.high_s, color=look["color"], alpha=0.2, lw=0
            )
    panel.set_xlabel("message size")
    _set_scales(panel, sizes, scale)
    if len(curves) > 1:
        panel.legend()


def _set_scales(panel: Axes, sizes: Sequence[float], scale: Scale) -> None:
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_tick(value)))
    if scale == "linear":
        places, texts = linear_size_ticks(max(sizes))
        panel.set_xticks(places, texts)
        panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))
        return
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    places, texts = size_ticks(sizes)
    panel.set_xticks(places, texts)
    panel.xaxis.set_minor_locator(NullLocator())
    _set_time_ticks(panel)


def _set_time_ticks(panel: Axes) -> None:
    low, high = panel.get_ylim()
    decades = math.log10(high / low)
    steps = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0) if decades > 0.5 else tuple(range(1, 10))
    panel.yaxis.set_major_locator(LogLocator(subs=steps))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_tick(value)))
    panel.yaxis.set_minor_locator(NullLocator())


def size_ticks(sizes_bytes: Sequence[float]) -> tuple[list[float], list[str]]:
    """Ticks at powers of two, at most nine, and one for zero where it occurs.

    Where fewer than two powers lie between the sizes, the ticks are at sizes.
    """
    positive = sorted({size for size in sizes_bytes if size > 0})
    zero = [zero_place(sizes_bytes)] if 0 in sizes_bytes else []
    if not positive:
        return zero, ["0"] * len(zero)
    first, last = math.ceil(math.log2(positive[0])), math.floor(math.log2(positive[-1]))
    step = max(1, math.ceil((last - first) / 7))
    places = [2.0**power for power in range(first, last + 1, step)]
    if len(places) < 2:
        places = _spread([*zero, *positive])[len(zero) :]
    return [*zero, *places], ["0"] * len(zero) + [_exact_text(place) for place in places]


def _exact_text(size_bytes: float) -> str:
    """Write a size with a binary prefix where two decimals are exact, otherwise in bytes."""
    scale = 1024 ** min(3, (int(size_bytes).bit_length() - 1) // 10)
    return size_text(size_bytes) if 100 * size_bytes % scale == 0 else f"{size_bytes:.0f} B"


def _spread(places: Sequence[float]) -> list[float]:
    """Return those of the places on a logarithmic axis whose texts do not touch, at most six."""
    gap = (places[-1] / places[0]) ** (1 / 5)
    kept: list[float] = []
    for place in places:
        if not kept or place >= kept[-1] * gap:
            kept.append(place)
    return kept


def linear_size_ticks(largest_bytes: float) -> tuple[list[float], list[str]]:
    """Ticks from zero to `largest_bytes` in steps of a power of two, at most eight."""
    step = 2.0 ** max(0, math.ceil(math.log2(max(largest_bytes, 1) / 7)))
    places = [step * index for index in range(int(largest_bytes / step) + 1)]
    return places, [size_text(place) if place else "0" for place in places]
