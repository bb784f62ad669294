# SPDX-License-Identifier: BSD-3-Clause
"""The picture of what programs gain, for the README: the newest kept run as bars.

It is drawn with the pictures of the papers: python -m experiments.papers.gallery
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from lanewise.plots import Bar, draw_bars
from lanewise.plots.style import SOFT, house_style

PICTURE = Path("docs/programs-gain.svg")
ALT = (
    "Time of whole programs with the rules that were found for them, over that without: two "
    "programs between two sites, and six on one host"
)
PLACES = {
    "two_site_ratio_": "between two sites, 8 ranks",
    "one_host_ratio_": "one host, 2 ranks",
}
NAMES = {
    "neighbours": "nearest points",
    "integer_sort": "integer sort",
    "lammps": "LAMMPS",
    "hpcc": "HPC Challenge",
}
_ENDS = ("_low", "_high")

Panels = list[tuple[str, list[Bar]]]


def panels_of(run: Mapping[str, Any]) -> Panels:
    """Return the ratios of a kept run, a panel for each place."""
    figures = run["figures"]
    return [
        (
            f"Tuned over plain, {where}",
            [
                _bar(figures, beginning, key)
                for key in figures
                if key.startswith(beginning)
                and not key.endswith(_ENDS)
                and figures[key] is not None
            ],
        )
        for beginning, where in PLACES.items()
    ]


def _bar(figures: Mapping[str, float | None], beginning: str, key: str) -> Bar:
    name = key.removeprefix(beginning)
    value = figures[key]
    assert value is not None
    low, high = (figures.get(f"{key}{end}") for end in _ENDS)
    return Bar(NAMES.get(name, name), value, low=low, high=high)


@house_style()
def draw(panels: Panels) -> Figure:
    """Draw the bars, with a line where tuned and plain are alike."""
    figure = draw_bars(panels, lambda value: f"{value:.2f}")
    for panel in figure.axes:
        panel.axvline(1.0, color=SOFT, lw=0.9, ls="--")
    return figure


def shown(panels: Panels) -> Sequence[object]:
    """Return what the picture shows, as plain data."""
    return [
        [title, bar.name, bar.value, bar.low, bar.high] for title, bars in panels for bar in bars
    ]
