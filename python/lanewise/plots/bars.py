# SPDX-License-Identifier: BSD-3-Clause
"""Bars: a few named values in groups, each written at the end of its bar.

Bars lie, so that long names read without turning the head.  On a logarithmic
axis, which has no zero for a bar to begin at, values are dots instead.  A dashed
line marks a target where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lanewise.plots.style import COLOURS, INK, SOFT, house_style, make_panels

Scale = Literal["log", "linear"]


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its length, the series that gives its colour, and its interval if any."""

    name: str
    value: float
    series: str = ""
    low: float | None = None
    high: float | None = None


@house_style()
def draw_bars(
    panels: Sequence[tuple[str, Sequence[Bar]]],
    write: Callable[[float], str],
    *,
    scale: Scale = "linear",
    target: float | None = None,
) -> Figure:
    """Draw one panel of bars for each (title, bars) pair; `write` spells a value.

    A series has the same colour in every panel.
    """
    figure, axes = make_panels(len(panels))
    series = dict.fromkeys(bar.series for _, bars in panels for bar in bars)
    colours = dict(zip(series, cycle(COLOURS), strict=False))
    for panel, (title, bars) in zip(axes, panels, strict=True):
        panel.set_title(title)
        _draw_panel(panel, bars, colours, write, scale)
        if target is not None:
            low, high = panel.get_xlim()
            # The line and the words below it have room where no bar comes as far.
            panel.set_xlim(low, max(high, target * _beyond(scale)))
            panel.axvline(target, color=INK, lw=0.9, ls="--")
            panel.annotate(
                f"target {write(target)}",
                (target, 0.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, -3),
                textcoords="offset points",
                ha="center",
                va="top",
                color=SOFT,
                fontsize=7.5,
            )
    return figure


def _beyond(scale: Scale) -> float:
    """Return by what a panel is longer than what it shows, so that words have room."""
    return 4 if scale == "log" else 1.15


def _draw_panel(
    panel: Axes,
    bars: Sequence[Bar],
    colours: Mapping[str, str],
    write: Callable[[float], str],
    scale: Scale,
) -> None:
    panel.set_xscale(scale)
    for place, bar in enumerate(bars):
        colour = colours[bar.series]
        if scale == "log":
            panel.plot([bar.value], [place], "o", color=colour, ms=7)
        else:
            panel.barh(place, bar.value, color=colour, height=0.62 * min(1.0, len(bars) / 4))
        if bar.low is not None and bar.high is not None:
            panel.plot([bar.low, bar.high], [place, place], "|-", color="black", lw=1, ms=8)
        end = bar.value if bar.high is None else bar.high
        panel.annotate(
            write(bar.value), (end, place), xytext=(7, 0), textcoords="offset points",
            va="center", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
    panel.set_yticks(range(len(bars)), [bar.name for bar in bars])
    panel.set_ylim(len(bars) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=scale == "log", axis="y")
    panel.grid(visible=False, axis="x")
    panel.xaxis.set_visible(False)
    panel.spines["bottom"].set_visible(False)
    low, high = panel.get_xlim()
    panel.set_xlim(low, high * _beyond(scale))
