# SPDX-License-Identifier: BSD-3-Clause
"""Strips: every single value of a few named groups, as dots on one axis.

Where a handful of runs is all there is, each run is shown rather than a
summary of them.  A dashed line marks a limit where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from lanewise.plots.style import COLOURS, SOFT, house_style, make_panels

Scale = Literal["log", "linear"]


@dataclass(frozen=True)
class Strip:
    """One group: its name and all its values."""

    name: str
    values: Sequence[float]


@house_style()
def draw_strips(
    title: str,
    strips: Sequence[Strip],
    write: Callable[[float], str],
    *,
    scale: Scale = "linear",
    limit: float | None = None,
) -> Figure:
    """Draw each strip as a column of dots, spread sideways in the order measured."""
    figure, axes = make_panels(1)
    panel = axes[0]
    panel.set_title(title)
    for place, strip in enumerate(strips):
        count = len(strip.values)
        width = 0.0 if count == 1 else 0.5 / (count - 1)
        across = [place + width * index - (0.25 if count > 1 else 0) for index in range(count)]
        panel.plot(across, strip.values, "o", color=COLOURS[place % len(COLOURS)], ms=5)
    panel.set_yscale(scale)
    panel.set_xticks(range(len(strips)), [strip.name for strip in strips])
    panel.set_xlim(-0.6, len(strips) - 0.4)
    panel.tick_params(axis="x", length=0)
    panel.grid(visible=False, axis="x")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    panel.yaxis.set_minor_locator(NullLocator())
    if limit is not None:
        panel.axhline(limit, color=SOFT, lw=0.9, ls="--")
        panel.annotate(
            f"limit {write(limit)}", (1.0, limit), xycoords=("axes fraction", "data"),
            xytext=(-2, 3), textcoords="offset points", ha="right", color=SOFT, fontsize=8,
        )  # fmt: skip
    return figure
