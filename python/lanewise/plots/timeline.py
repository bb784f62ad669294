# SPDX-License-Identifier: BSD-3-Clause
"""Timeline: a line for each rank, a bar while its processor or interface works, and messages.

Above the line stands what the processor does, below it what the interface of the rank's host
does.  A thin line leads from the end of each message's send to the beginning of its receive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from lanewise.files.whole import whole_file
from lanewise.plots.style import COLOURS, PANEL_WIDTH_IN, SOFT, house_style
from lanewise.results.quantity import time_tick

PROCESSOR = ("send", "receive", "copy", "reduce")
INTERFACE = ("egress", "ingress")
RANK_HEIGHT_IN = 0.3
FRAME_HEIGHT_IN = 1.1
PROCESSOR_BAR = (-0.32, 0.32)
INTERFACE_BAR = (0.04, 0.2)


@dataclass(frozen=True)
class Work:
    """What a processor or an interface did: send, receive, copy, reduce, egress or ingress."""

    what: str
    rank: int
    peer: int
    begin_s: float
    end_s: float


@house_style()
def draw_timeline(title: str, ranks: int, work: Sequence[Work]) -> Figure:
    """Draw all `work` of `ranks` ranks, rank 0 on top."""
    height_in = FRAME_HEIGHT_IN + RANK_HEIGHT_IN * ranks
    figure = Figure(figsize=(1.8 * PANEL_WIDTH_IN, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.set_title(title)
    for begin, end in messages(work):
        panel.plot([begin.end_s, end.begin_s], [begin.rank, end.rank], color=SOFT, lw=0.6, zorder=1)
    for one in work:
        _draw_bar(panel, one)
    panel.set_yticks(range(ranks), [str(rank) for rank in range(ranks)])
    panel.set_ylabel("rank")
    panel.set_ylim(ranks - 0.5, -0.6)
    panel.set_xlim(0, max((one.end_s for one in work), default=1.0) * 1.01)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="x")
    panel.spines["left"].set_visible(False)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: time_tick(value)))
    _draw_legend(figure, {one.what for one in work})
    return figure


def messages(work: Iterable[Work]) -> list[tuple[Work, Work]]:
    """Pair each send with its receive: the n-th from one rank to another with the n-th there."""
    sent: dict[tuple[int, int], list[Work]] = defaultdict(list)
    received: dict[tuple[int, int], list[Work]] = defaultdict(list)
    for one in sorted(work, key=lambda each: each.begin_s):
        if one.what == "send":
            sent[one.rank, one.peer].append(one)
        elif one.what == "receive":
            received[one.peer, one.rank].append(one)
    return [both for pair in sent for both in zip(sent[pair], received[pair], strict=True)]


def save_drawing(figure: Figure, path: Path) -> None:
    """Write a figure as SVG to `path`, whole or not at all."""
    with whole_file(path) as part, house_style():
        figure.savefig(part, format="svg", metadata={"Date": None})


def _draw_bar(panel: Axes, one: Work) -> None:
    low, height = PROCESSOR_BAR if one.what in PROCESSOR else INTERFACE_BAR
    panel.broken_barh(
        [(one.begin_s, one.end_s - one.begin_s)],
        (one.rank + low, height),
        color=_colour(one.what),
        lw=0.4,
        edgecolor="white",
        zorder=2,
    )


def _colour(what: str) -> str:
    return COLOURS[(*PROCESSOR, *INTERFACE).index(what)]


def _draw_legend(figure: Figure, seen: set[str]) -> None:
    shown = [what for what in (*PROCESSOR, *INTERFACE) if what in seen]
    handles = [Line2D([], [], color=_colour(what), lw=6) for what in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=max(1, len(shown)))
