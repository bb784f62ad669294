# SPDX-License-Identifier: BSD-3-Clause
"""Rates: bits a second through a link over time, a panel each, on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from lanewise.plots.style import COLOURS, SOFT, house_style, make_panels


@house_style()
def draw_rates(
    panels: Sequence[tuple[str, Sequence[float], Sequence[float]]], most_bits_per_s: float
) -> Figure:
    """Draw (title, times, rates) side by side; a dashed line is what the link carries."""
    figure, axes = make_panels(len(panels))
    for panel, (title, times_s, rates) in zip(axes, panels, strict=True):
        panel.set_title(title)
        megabits = [rate / 1e6 for rate in rates]
        panel.fill_between(times_s, megabits, color=COLOURS[0], alpha=0.4, lw=0)
        panel.plot(times_s, megabits, color=COLOURS[0], lw=0.8)
        panel.axhline(most_bits_per_s / 1e6, color=SOFT, lw=0.9, ls="--")
        panel.set_ylim(0, 1.1 * most_bits_per_s / 1e6)
        panel.set_xlabel("seconds")
    axes[0].set_ylabel("Mb/s")
    return figure
