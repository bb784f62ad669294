# SPDX-License-Identifier: BSD-3-Clause
"""Style: the one look of every still figure, and how a figure becomes files.

Thin lines, one sans face, no frame but the two axes, a faint grid behind the
data, colours that colour-blind readers can tell apart.  Figures are made
without pyplot, so that drawing leaves no global state behind.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = ("#1a5fb4", "#c2501a", "#1b7f5c", "#8b3fa3", "#9a7400", "#0e7c93", "#b8336a", "#566370")
MARKERS = ("o", "s", "D", "^", "X", "v", "P", "p")
INK = "#1d2024"
SOFT = "#5b626b"
GRID = "#e6e8eb"

_LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "lanewise",
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.0,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the look while artists are made or saved; also works as a decorator."""
    with mpl.rc_context(_LOOK):
        yield


PANEL_WIDTH_IN = 4.6
PANEL_HEIGHT_IN = 3.4
PANELS_ACROSS_MAX = 3  # as wide as a page can show them and still be read


NOTEBOOK_DOTS_PER_INCH = 96


class NotebookFigure(Figure):
    """A figure that a notebook shows without pyplot, at twice the dots of an old screen."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        file = io.BytesIO()
        with house_style():
            self.savefig(file, format="png", dpi=2 * NOTEBOOK_DOTS_PER_INCH)
        width_in, height_in = self.get_size_inches()
        size = {"width": width_in, "height": height_in}
        dots = {key: round(NOTEBOOK_DOTS_PER_INCH * side_in) for key, side_in in size.items()}
        return file.getvalue(), dots


def make_panels(count: int) -> tuple[Figure, list[Axes]]:
    """Make a figure of `count` panels, in rows of at most PANELS_ACROSS_MAX."""
    rows = max(1, math.ceil(count / PANELS_ACROSS_MAX))
    across = math.ceil(count / rows)
    figure = NotebookFigure(
        figsize=(PANEL_WIDTH_IN * across, PANEL_HEIGHT_IN * rows), layout="constrained"
    )
    FigureCanvasAgg(figure)
    panels = list(figure.subplots(rows, across, squeeze=False).flat)
    for unused in panels[count:]:
        unused.remove()
    return figure, panels[:count]


@house_style()
def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write `stem`.png (160 dots an inch) and `stem`.svg; returns both paths.

    Raises OSError where the folder cannot be written.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(stem.name + suffix) for suffix in (".png", ".svg")]
    figure.savefig(paths[0], dpi=160)
    figure.savefig(paths[1], metadata={"Date": None})
    return paths
