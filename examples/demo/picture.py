# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the README: figures of some chapters, with where they were measured.

`make demo` writes it as lanewise.svg; a copy is docs/lanewise.svg.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from lanewise.plots.style import SOFT, house_style

GAP = 16.0
CAPTION_HEIGHT = 20.0
SIZE = re.compile(r'width="([0-9.]+)pt" height="([0-9.]+)pt"')


@house_style()
def svg_of(figure: Figure) -> str:
    """Return a figure as an SVG element."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def stacked(figures: Sequence[Figure], caption: str) -> str:
    """Return one SVG of the figures, one below the other, with a line of text at the end."""
    inner, top, width = [], 0.0, 0.0
    for figure in figures:
        drawn = svg_of(figure)
        size = SIZE.search(drawn)
        assert size is not None  # matplotlib writes it in this form
        wide, high = float(size[1]), float(size[2])
        placed = f'x="0" y="{top:g}" width="{wide:g}" height="{high:g}"'
        inner.append(drawn.replace(size[0], placed, 1))
        top, width = top + high + GAP, max(width, wide)
    height = top + CAPTION_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">\n'
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>\n'
        + "".join(inner)
        + f'<text x="8" y="{top + 8:g}" fill="{SOFT}" font-size="10" '
        f'font-family="sans-serif">{escape(caption)}</text>\n</svg>\n'
    )


def write_picture(path: Path, figures: Sequence[Figure], caption: str) -> None:
    """Write the picture; OSError where it cannot be written."""
    path.write_text(stacked(figures, caption), encoding="utf-8")
