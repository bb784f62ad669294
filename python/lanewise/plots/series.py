# SPDX-License-Identifier: BSD-3-Clause
"""Series: a number against another, for what is neither a time nor a message size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from lanewise.plots.style import COLOURS, MARKERS, house_style, make_panels

# Where there are more lines than colours, these tell those of one colour apart.
LINES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Series:
    """One line: `x` and `y` of one length, and the ends of the intervals where there are any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def line_look(index: int) -> dict[str, Any]:
    """Return colour, marker and style of the line with this number; 32 look different."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[index // len(COLOURS) % len(LINES)],
    }


@house_style()
def draw_series(
    panels: Sequence[tuple[str, Sequence[Series]]],
    x_label: str,
    write_x: Callable[[float], str],
    *,
    ticks: Sequence[float] = (),
    scale: Literal["log", "linear"] = "log",
) -> Figure:
    """Draw one panel for each (title, series) pair, y from zero; `write_x` spells a tick."""
    figure, axes = make_panels(len(panels))
    for panel, (title, series) in zip(axes, panels, strict=True):
        panel.set_title(title)
        for index, one in enumerate(series):
            look = line_look(index)
            panel.plot(one.x, one.y, **look, label=one.label)
            if one.low is not None and one.high is not None:
                panel.fill_between(one.x, one.low, one.high, color=look["color"], alpha=0.2, lw=0)
        panel.set_xscale(scale)
        if ticks:
            panel.set_xticks(list(ticks))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: write_x(value)))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel(x_label)
        panel.set_ylim(bottom=0)
    if len(panels[0][1]) > 1:
        axes[0].legend()
    return figure
