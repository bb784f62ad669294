# SPDX-License-Identifier: BSD-3-Clause
"""Ratios: one run over another against message size, with a line where both are alike."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lanewise.plots.curves import Curve, size_ticks, zero_place
from lanewise.plots.series import line_look
from lanewise.plots.style import SOFT, house_style, make_panels


@house_style()
def draw_ratios(panels: Sequence[tuple[str, Sequence[Curve]]]) -> Figure:
    """Draw one panel for each (title, curves) pair; the times of a curve are ratios."""
    figure, axes = make_panels(len(panels))
    for panel, (title, curves) in zip(axes, panels, strict=True):
        panel.set_title(title)
        _draw_panel(panel, curves)
    axes[0].set_ylabel("second over first")
    return figure


def _draw_panel(panel: Axes, curves: Sequence[Curve]) -> None:
    sizes = [size for curve in curves for size in curve.sizes_bytes]
    panel.axhline(1.0, color=SOFT, lw=0.9, ls="--")
    for index, curve in enumerate(curves):
        places = [size if size > 0 else zero_place(sizes) for size in curve.sizes_bytes]
        look = line_look(index)
        panel.plot(places, curve.median_s, **look, label=curve.label)
        if curve.low_s is not None and curve.high_s is not None:
            panel.fill_between(
                places, curve.low_s, curve.high_s, color=look["color"], alpha=0.2, lw=0
            )
    panel.set_xscale("log", base=2)
    panel.set_xticks(*size_ticks(sizes))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel("message size")
    if len(curves) > 1:
        panel.legend()
