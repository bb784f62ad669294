# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the map: a grid of winners for each collective and round trip.

    python -m experiments.multilane.winner_map_picture

draws docs/multilane-map.svg from the newest run that is kept.

A field has the colour of the way that wins and, as text, its name and what the default takes of its
time, or, where the default wins, what the next does.  A field in which the choice loses more than
a twentieth is framed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments import results
from experiments.multilane.winners import DEFAULT, Point, lanes_of
from lanewise.plots.style import COLOURS, INK, house_style, make_panels

# From light to dark: the default, one lane, 2, 4, 8 lanes.
SHADES = ("#e6e8eb", "#f3c9a8", "#b9d3f0", "#7fb0e3", "#4a8ad0")
FRAME = COLOURS[6]
PICTURE = Path(__file__).resolve().parents[2] / "docs/multilane-map.svg"


@dataclass(frozen=True)
class Field:
    """One field of a panel: its place, its text, and how it is drawn."""

    column: int
    row: int
    text: str
    shade: str
    is_good: bool


def shade_of(way: str) -> str:
    """Return the colour of a way."""
    return SHADES[min(lanes_of(way).bit_length(), len(SHADES) - 1)]


def text_of(point: Point) -> str:
    """Return the winner, and how many times as long the default takes, or the next way."""
    times_s, winner = point.measured_s, point.winner
    rest = [way for way in times_s if way != winner]
    other = min(rest, key=lambda way: times_s[way]) if winner == DEFAULT else DEFAULT
    name = "default" if winner == DEFAULT else str(lanes_of(winner))
    return f"{name}\n{times_s[other] / times_s[winner]:.2g}"


def fields_of(points: Sequence[Point]) -> list[Field]:
    """Return the fields of one panel, which are those of one collective and round trip."""
    ratios = sorted({point.ratio for point in points})
    limits = list(dict.fromkeys(point.limit for point in points))
    return [
        Field(
            ratios.index(point.ratio), limits.index(point.limit), text_of(point),
            shade_of(point.winner), point.is_good,
        )
        for point in points
    ]  # fmt: skip


@house_style()
def draw_map(points: Sequence[Point]) -> Figure:
    """Draw a panel for each collective and round trip."""
    keys = list(dict.fromkeys((point.collective, point.round_trip_s) for point in points))
    keys.sort(key=lambda key: (key[0] != "scatter", key[1]))
    figure, axes = make_panels(len(keys))
    for panel, (collective, round_trip_s) in zip(axes, keys, strict=True):
        own = [
            point
            for point in points
            if (point.collective, point.round_trip_s) == (collective, round_trip_s)
        ]
        _draw_panel(panel, own)
        panel.set_title(f"{collective}, round trip {round_trip_s * 1e3:g} ms")
    return figure


def _draw_panel(panel: Axes, points: Sequence[Point]) -> None:
    for field in fields_of(points):
        edge, width = ("white", 1.0) if field.is_good else (FRAME, 2.0)
        corner = (field.column - 0.47, field.row - 0.47)
        panel.add_patch(Rectangle(corner, 0.94, 0.94, fc=field.shade, ec=edge, lw=width))
        panel.text(
            field.column, field.row, field.text, ha="center", va="center", fontsize=6.5, color=INK
        )
    ratios = sorted({point.ratio for point in points})
    limits = list(dict.fromkeys(point.limit for point in points))
    panel.grid(visible=False)
    panel.set_xlim(-0.5, len(ratios) - 0.5)
    panel.set_ylim(-0.5, len(limits) - 0.5)
    panel.set_xticks(range(len(ratios)), [_share_text(ratio) for ratio in ratios])
    panel.set_yticks(range(len(limits)), [_limit_text(limit) for limit in limits])
    panel.set_xlabel("rate of a host / rate of the link")


def _share_text(ratio: float) -> str:
    return f"{ratio:g}" if ratio >= 1 else f"1/{1 / ratio:g}"


def _limit_text(limit: str) -> str:
    return f"loss {limit}" if limit.endswith("%") else limit


def points_of(run: Mapping[str, Any]) -> list[Point]:
    """Return the simulated points of a run that is kept."""
    return [Point(**values) for values in run["conditions"]["points"]]


@house_style()
def write_picture() -> None:
    """Draw the newest run."""
    figure = draw_map(points_of(results.read("multilane-map")[-1]))
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    write_picture()
