# SPDX-License-Identifier: BSD-3-Clause
"""Draw: the charts of an item, for the paper and for here on the same axis, and our curves.

A number of a paper is a bar (a dot on a logarithmic axis), a range a bar with its ends, one end of
a range an arrow, and words are written out, with a hollow bar where they come to a number.  The
bound of the finding is a dashed line.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from experiments.papers.answers import Answer
from experiments.papers.item import Chart, Here, Lines, Measured, Points, Told, Unit, curves_of
from lanewise.plots.curves import linear_size_ticks
from lanewise.plots.series import LINES
from lanewise.plots.style import COLOURS, MARKERS, SOFT, house_style
from lanewise.results.quantity import rate_text, size_text, three_digits, time_text, time_tick

Side = Literal["paper", "here"]
WIDTH_IN = 4.6
BAR_IN = 0.42
TITLE_IN = 0.35
COLOUR = {"paper": COLOURS[7], "here": COLOURS[0]}
TICKS_MAX = 6
LEGEND_INSIDE_MAX = 3
# Beyond this ratio, an axis has a tick at each power of ten and none between.
DECADES_ALONE = 300.0


def number_text(value: float, unit: Unit) -> str:
    """Write a number with its unit."""
    if unit == "s":
        return time_text(value)
    if unit == "bytes":
        return size_text(value)
    if unit == "MB/s":
        return rate_text(value * 1e6)
    if unit == "lanes":
        return f"{value:.0f}"
    text = three_digits(value)
    return text if unit in ("ratio", "share") else f"{text} {unit}"


def here_text(here: Here, measured: Measured | None, unit: Unit) -> str:
    """Write our number; where there is none, tell one that was lost from one not measured."""
    value = None if measured is None else here.value(measured)
    if value is not None:
        return number_text(value, unit)
    lost = measured is not None and here.lost(measured)
    return "no value (the run was lost)" if lost else "not measured"


def told_text(told: Told | None, unit: Unit) -> str:
    """Write what the paper tells."""
    if told is None:
        return "not stated"
    if told.words:
        return told.words
    if told.exact:
        return number_text(told.low, unit)
    if math.isinf(told.high):
        return f"over {number_text(told.low, unit)}"
    return f"{number_text(told.low, unit)} to {number_text(told.high, unit)}"


def limits(chart: Chart, answer: Answer) -> tuple[float, float]:
    """Return the ends of the axis that both sides share."""
    finding = answer.item.finding
    values = [
        value
        for one in chart.quantities
        for value in (
            *((one.paper.low, one.paper.high) if one.paper else ()),
            answer.value(one) or math.nan,
            *(bounds_of(answer) if one == finding.quantity else ()),
        )
        if math.isfinite(value) and (value > 0 or chart.scale == "linear")
    ]
    if not values:
        return (0.0, 1.0) if chart.scale == "linear" else (0.1, 1.0)
    if chart.scale == "log":
        return min(values) / 2, max(values) * 2
    return min(0.0, *values) * 1.1, max(0.0, *values) or 1.0


def bounds_of(answer: Answer) -> list[float]:
    """Return the ends of what our number of the headline may be for the finding to hold."""
    holds = answer.item.finding.holds
    return [holds.value] if holds.at_most is None else [holds.value, holds.at_most]


def new_figure(width_in: float, height_in: float) -> Figure:
    """Make an empty figure."""
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def heights_in(answer: Answer) -> list[float]:
    """Return the heights of the charts of an item."""
    return [len(chart.quantities) * BAR_IN * 1.7 + TITLE_IN for chart in answer.item.charts]


@house_style()
def draw_side(answer: Answer, side: Side) -> Figure:
    """Draw all charts of an item for one side."""
    figure = new_figure(WIDTH_IN, sum(heights_in(answer)))
    _draw_charts(figure, answer, side)
    return figure


@house_style()
def draw_both(answer: Answer) -> Figure:
    """Draw the paper's side and ours beside each other, for a page without a layout of its own."""
    figure = new_figure(2 * WIDTH_IN, sum(heights_in(answer)) + TITLE_IN)
    parts = figure.subfigures(1, 2, squeeze=False)[0]
    for part, side, title in zip(parts, COLOUR, ("Paper", "Here"), strict=True):
        part.suptitle(title, x=0.02, ha="left", fontsize=11, color=COLOUR[side])
        _draw_charts(part, answer, side)
    return figure


@house_style()
def svg(figure: Figure, description: str = "") -> str:
    """Return a figure as SVG, with a description among its metadata."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Description": description})
    return text.getvalue()


def _draw_charts(figure: Figure | SubFigure, answer: Answer, side: str) -> None:
    charts = answer.item.charts
    axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=heights_in(answer))
    for (panel,), chart in zip(axes, charts, strict=True):
        _draw_chart(panel, chart, answer, side)


def _draw_chart(panel: Axes, chart: Chart, answer: Answer, side: str) -> None:
    panel.set_title(chart.title)
    panel.set_xscale(chart.scale)
    low, high = limits(chart, answer)
    # A third of the width is left for the text behind the longest bar.
    panel.set_xlim(low, high * (high / low) ** 0.6 if chart.scale == "log" else high * 1.45)
    for place, one in enumerate(chart.quantities):
        if one == answer.item.finding.quantity:
            for bound in bounds_of(answer):
                panel.plot([bound, bound], [place - 0.3, place + 0.3], color=SOFT, lw=1, ls="--")
        if side == "paper":
            _draw_told(panel, place, one.paper, chart)
            text = told_text(one.paper, chart.unit)
        else:
            value = answer.value(one)
            text = here_text(one.here, answer.measured(one), chart.unit)
            _bar(panel, place, math.nan if value is None else value, chart, COLOUR["here"])
        stated = one.paper if side == "paper" else answer.value(one)
        end = _end(panel, one.paper, answer.value(one), side)
        panel.annotate(
            text, (end, place), xytext=(6, 0), textcoords="offset points", va="center",
            color=SOFT if stated is None else "black", fontsize=8.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.8},
        )  # fmt: skip
        panel.annotate(
            one.label, (0, place), xycoords=("axes fraction", "data"), xytext=(3, 11),
            textcoords="offset points", va="bottom", color=SOFT, fontsize=8,
        )  # fmt: skip
    panel.set_ylim(len(chart.quantities) - 0.5, -0.75)
    panel.set_yticks([])
    panel.grid(visible=False)
    panel.spines["bottom"].set_visible(False)
    panel.xaxis.set_visible(False)


def _end(panel: Axes, told: Told | None, value: float | None, side: str) -> float:
    """Return where the text of a bar begins."""
    start = panel.get_xlim()[0] if panel.get_xscale() == "log" else 0.0
    if side == "here":
        return start if value is None else max(start, value)
    if told is None or math.isnan(told.low):
        return start
    return max(start, told.low if math.isinf(told.high) else told.high)


def _draw_told(panel: Axes, place: int, told: Told | None, chart: Chart) -> None:
    if told is None or math.isnan(told.low):
        return
    if told.words:
        _bar(panel, place, told.low, chart, COLOUR["paper"], hollow=True)
        return
    _bar(panel, place, told.low, chart, COLOUR["paper"])
    if math.isfinite(told.high) and told.high > told.low:
        panel.plot([told.low, told.high], [place, place], "|-", color="black", lw=1, ms=9)
    if math.isinf(told.high):
        panel.plot([told.low], [place], ">", color="black", ms=6)


def _bar(  # noqa: PLR0913 - where, how long, and how it looks
    panel: Axes, place: int, value: float, chart: Chart, colour: str, *, hollow: bool = False
) -> None:
    if math.isnan(value):
        return
    if chart.scale == "log":
        panel.plot([value], [place], "o", color=colour, ms=7, mfc="none" if hollow else colour)
        return
    panel.barh(
        place, value, height=0.32, edgecolor=colour, facecolor="none" if hollow else colour,
        ls="--" if hollow else "-",
    )  # fmt: skip


@house_style()
def draw_lines(lines: Lines, found: Mapping[str, Points]) -> Figure:
    """Draw our curves of one kind."""
    figure = new_figure(WIDTH_IN, 3.4)
    panel = figure.subplots()
    panel.set_title(lines.title)
    for index, (label, points) in enumerate(found.items()):
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        places, values = _shown(points, lines)
        panel.plot(
            places, values, LINES[index // len(COLOURS) % len(LINES)], color=colour,
            marker=marker if len(values) <= 40 else "", label=label,
        )  # fmt: skip
    _set_axes(panel, lines, [x for points in found.values() for x, _ in points])
    if len(found) > LEGEND_INSIDE_MAX:
        panel.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    elif len(found) > 1:
        panel.legend(fontsize=7.5)
    return figure


def _shown(points: Points, lines: Lines) -> tuple[list[float], list[float]]:
    kept = [(x, y) for x, y in points if lines.scale == "linear" or (x > 0 and y > 0)]
    return [x for x, _ in kept], [y for _, y in kept]


def _set_axes(panel: Axes, lines: Lines, places: Sequence[float]) -> None:
    panel.set_xlabel(lines.x)
    panel.set_ylabel("" if lines.y == "s" else lines.y)
    if lines.scale == "linear":
        panel.set_ylim(bottom=0)
        if lines.x == "bytes":
            panel.set_xticks(*linear_size_ticks(max(places)))
    else:
        panel.set_xscale("log")
        if lines.y != "share":
            panel.set_yscale("log")
            low, high = panel.get_ylim()
            steps = (1.0,) if high / low > DECADES_ALONE else (1.0, 2.0, 5.0)
            panel.yaxis.set_major_locator(LogLocator(subs=steps))
        else:
            panel.set_ylim(0, 1.05)
        _set_ticks(panel, lines, places)
    if lines.y == "s":
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_tick(value)))


def _set_ticks(panel: Axes, lines: Lines, places: Sequence[float]) -> None:
    shown = sorted({place for place in places if place > 0})
    step = max(1, math.ceil(len(shown) / TICKS_MAX))
    write = _writer(lines.x)
    panel.set_xticks(shown[::step], [write(place) for place in shown[::step]])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_minor_locator(NullLocator())


def _writer(x: str) -> Callable[[float], str]:
    if x == "bytes":
        return size_text
    return time_tick if x == "time between polls" else lambda value: f"{value:g}"


def pictures(answer: Answer) -> dict[str, Figure]:
    """Return all pictures of an item by name: the paper, here, and our curves."""
    drawn = {"paper": draw_side(answer, "paper"), "here": draw_side(answer, "here")}
    measured = answer.run.measured
    if measured is None:
        return drawn
    for index, lines in enumerate(answer.item.lines):
        found = curves_of(measured, lines.beginning)
        if found:
            drawn[f"curves-{index + 1}"] = draw_lines(lines, found)
    return drawn
