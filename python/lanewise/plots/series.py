# SPDX-License-Identifier: BSD-3-Clause
"""Series: a number against another, for what is neither a time nor a message size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from lanewise.plots.style import COLOURS, MARKERS, house_style, make_panels

# Where there are more series than colours, these tell those of one colour apart.
LINES = ("-", "--", ":")


@dataclass(frozen=True)
class Series:
    """One line: `x` and `y` of one length, and the ends of the intervals where there are any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


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
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            again = LINES[index // len(COLOURS) % len(LINES)]
            panel.plot(one.x, one.y, again, color=colour, marker=marker, label=one.label)
            if one.low is not None and one.high is not None:
                panel.fill_between(one.x, one.low, one.high, color=colour, alpha=0.2, lw=0)
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
