# SPDX-License-Identifier: BSD-3-Clause
"""Messages: a line for each rank, and an arrow for each message, round by round.

An arrow leaves the sender where its round begins and meets the receiver where it ends.  Arrows of
one sender have one colour, and those that carry more are thicker.  What the messages of a round
carry stands below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lanewise.plots.style import COLOURS, GRID, house_style
from lanewise.results.quantity import size_text

RANK_HEIGHT_IN = 0.36
ROUND_WIDTH_IN = 0.95
WIDTH_MIN_IN = 4.6
WIDTH_MAX_IN = 30.0
FRAME_IN = 1.0


@dataclass(frozen=True)
class Arrow:
    """What goes from one rank to another in a round; rounds count from 0."""

    begin: int
    sender: int
    receiver: int
    message_bytes: int


@house_style()
def draw_messages(title: str, ranks: int, arrows: Sequence[Arrow]) -> Figure:
    """Draw all `arrows` between `ranks` ranks, rank 0 on top."""
    rounds = max((arrow.begin for arrow in arrows), default=0) + 1
    width_in = min(max(WIDTH_MIN_IN, FRAME_IN + ROUND_WIDTH_IN * rounds), WIDTH_MAX_IN)
    figure = Figure(figsize=(width_in, FRAME_IN + RANK_HEIGHT_IN * ranks), layout="constrained")
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.set_title(title)
    for rank in range(ranks):
        panel.axhline(rank, color=GRID, lw=1.2, zorder=0)
    most_bytes = max((arrow.message_bytes for arrow in arrows), default=0)
    for arrow in arrows:
        _draw_arrow(panel, arrow, arrow.message_bytes / max(most_bytes, 1))
    panel.set_yticks(range(ranks), [str(rank) for rank in range(ranks)])
    panel.set_ylabel("rank")
    panel.set_ylim(ranks - 0.5, -0.5)
    panel.set_xlim(-0.08, rounds + 0.08)
    panel.set_xticks(
        [number + 0.5 for number in range(rounds)],
        [f"{number + 1}\n{_carried(arrows, number)}".rstrip() for number in range(rounds)],
    )
    panel.set_xlabel("round")
    panel.tick_params(length=0)
    panel.grid(visible=False)
    for place in range(1, rounds):
        panel.axvline(place, color=GRID, lw=0.6, zorder=0)
    panel.spines["left"].set_visible(False)
    return figure


def _carried(arrows: Sequence[Arrow], number: int) -> str:
    """Return how much the messages of a round carry; nothing where they are signals."""
    sizes = sorted({arrow.message_bytes for arrow in arrows if arrow.begin == number})
    if sizes in ([], [0]):
        return ""
    return size_text(sizes[0]) + (f"\nto {size_text(sizes[-1])}" if len(sizes) > 1 else "")


def _draw_arrow(panel: Axes, arrow: Arrow, share: float) -> None:
    colour = COLOURS[arrow.sender % len(COLOURS)]
    begin = (arrow.begin + 0.06, arrow.sender)
    panel.annotate(
        "",
        xy=(arrow.begin + 0.94, arrow.receiver),
        xytext=begin,
        arrowprops={
            "arrowstyle": "-|>", "color": colour, "lw": 0.8 + share, "shrinkA": 0, "shrinkB": 0,
            "mutation_scale": 8,
        },
    )  # fmt: skip
    panel.plot(*begin, "o", color=colour, ms=3)
