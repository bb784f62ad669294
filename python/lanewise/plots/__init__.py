# SPDX-License-Identifier: BSD-3-Clause
"""Plots: figures for print, one function from data to figure for each kind.

The interactive figures of `lanewise report` are drawn in the page itself; these
are the still ones of `lanewise reproduce` and of notebooks, as PNG and SVG in one style.
"""

from lanewise.plots.bars import Bar, draw_bars
from lanewise.plots.curves import Curve, curve_of, draw_curves
from lanewise.plots.rates import draw_rates
from lanewise.plots.ratios import draw_ratios
from lanewise.plots.strips import Strip, draw_strips
from lanewise.plots.style import save_figure

__all__ = [
    "Bar",
    "Curve",
    "Strip",
    "curve_of",
    "draw_bars",
    "draw_curves",
    "draw_rates",
    "draw_ratios",
    "draw_strips",
    "save_figure",
]
