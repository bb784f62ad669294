# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a suite's page: what is drawn, as plain data, and the rankings beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lanewise.results.quantity import rate_text, size_text, three_digits, time_text
from lanewise.suite.benchmarks import FIGURES, GROUPS, Figure
from lanewise.suite.pool import Key, Pool, Pooled
from lanewise.suite.rank import Ranked, ranking
from lanewise.suite.switch import Switch, switches

Json = dict[str, Any]

AXES = {
    "time": ("time", "time"),
    "bandwidth": ("bandwidth", "rate"),
    "rate": ("messages a second", "count"),
}


def curve_points(pool: Pool, transport: str, benchmark: str) -> list[tuple[int, Pooled]]:
    """Return the points of a benchmark on a transport, sorted by size."""
    found = [
        (key.message_bytes, pooled)
        for key, pooled in pool.items()
        if key.transport == transport and key.benchmark == benchmark
    ]
    return sorted(found, key=lambda pair: pair[0])


def figures_of(pool: Pool, transports: Sequence[str]) -> list[Json]:
    """Return a figure for each of the paper's that has points, and for each other benchmark."""
    made = [benchmark_figure(pool, figure, transports) for figure in figures_for(pool)]
    return [figure for figure in made if any(curve["x"] for curve in figure["curves"])]


def figures_for(pool: Pool) -> list[Figure]:
    """Return the paper's figures, and one of time for each other benchmark that has sizes."""
    others = [name for name in others_in(pool) if has_sizes(pool, name)]
    return [*FIGURES, *(other_figure(pool, name) for name in others)]


def others_in(pool: Pool) -> list[str]:
    """Return the benchmarks that are in no figure of the paper, in the order of their groups."""
    known = {figure.benchmark for figure in FIGURES}
    measured = {key.benchmark for key in pool} - known
    return [name for group in GROUPS for name in group.benchmarks if name in measured]


def has_sizes(pool: Pool, benchmark: str) -> bool:
    """Tell whether a benchmark was measured at a size; a barrier has none."""
    return any(key.benchmark == benchmark and key.message_bytes > 0 for key in pool)


def other_figure(pool: Pool, benchmark: str) -> Figure:
    """Return the figure of a benchmark by its name alone, ranked at its ends."""
    sizes = sorted({key.message_bytes for key in pool if key.benchmark == benchmark})
    ends = tuple(dict.fromkeys((sizes[0], sizes[-1])))
    return Figure(f"other-{benchmark}", benchmark, "", benchmark, "time", ends)


def benchmark_figure(pool: Pool, figure: Figure, transports: Sequence[str]) -> Json:
    """Return one figure against message size, a curve a transport; colours follow the transport."""
    curves = []
    for index, transport in enumerate(transports):
        points = curve_points(pool, transport, figure.benchmark)
        if points:
            curves.append(benchmark_curve(figure, transport, index, points))
    label, unit = AXES[figure.quantity]
    return {
        "id": f"figure-{figure.key}",
        "title": figure.title,
        "paper": figure.paper,
        "x": {"label": "message size", "unit": "bytes", "log": True},
        "y": {"label": label, "unit": unit, "log": True},
        "curves": curves,
        "better": "lower" if figure.quantity == "time" else "higher",
    }


def benchmark_curve(
    figure: Figure, transport: str, index: int, points: Sequence[tuple[int, Pooled]]
) -> Json:
    """Return one curve with the interval of each point."""
    curve: Json = {"label": transport, "colour": index, "x": [], "y": [], "low": [], "high": [],
                   "text": []}  # fmt: skip
    for size, pooled in points:
        ends = [figure.value(end, size) for end in pooled.interval_s()]
        curve["x"].append(size)
        curve["y"].append(number(figure.value(pooled.median_s, size)))
        curve["low"].append(number(min(ends)))
        curve["high"].append(number(max(ends)))
        curve["text"].append(f"{len(pooled.samples_s)} samples at {size_text(size)}")
    return curve


def number(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def quantity_text(figure: Figure, value: float) -> str:
    """Write a quantity of a figure with its unit."""
    if not math.isfinite(value):
        return "—"
    if figure.quantity == "time":
        return time_text(value)
    if figure.quantity == "bandwidth":
        return rate_text(value)
    return count_text(value)


def count_text(per_s: float) -> str:
    """Write messages a second, `1.23 M/s`."""
    for scale, unit in ((1e6, "M/s"), (1e3, "k/s")):
        if per_s >= scale * 0.9995:
            return f"{three_digits(per_s / scale)} {unit}"
    return f"{three_digits(per_s)} /s"


def rankings_of(pool: Pool) -> list[Json]:
    """Return a ranking for each figure at each of its sizes, the best first."""
    found = []
    for figure in figures_for(pool):
        for size in figure.rank_at:
            nearest = nearest_size(pool, figure.benchmark, size)
            if nearest is None:
                continue
            points = points_at(pool, figure.benchmark, nearest)
            if len(points) > 1 and all(one.median_s > 0 for one in points.values()):
                found.append(ranking_table(figure, nearest, ranking(points)))
    return found


def numbers_of(pool: Pool) -> list[Json]:
    """Return a ranking for each benchmark without sizes, such as a barrier."""
    return [
        ranking_table(other_figure(pool, name), 0, ranking(points_at(pool, name, 0)))
        for name in others_in(pool)
        if not has_sizes(pool, name)
    ]


def points_at(pool: Pool, benchmark: str, message_bytes: int) -> dict[str, Pooled]:
    """Return the points of a benchmark at a size, by transport."""
    return {
        key.transport: pooled
        for key, pooled in pool.items()
        if key.benchmark == benchmark and key.message_bytes == message_bytes
    }


def nearest_size(pool: Pool, benchmark: str, wanted: int) -> int | None:
    """Return the measured size nearest to the one that is wanted."""
    sizes = {key.message_bytes for key in pool if key.benchmark == benchmark}
    return min(sizes, key=lambda size: abs(math.log((size or 1) / wanted)), default=None)


def ranking_table(figure: Figure, size: int, ranked: Sequence[Ranked]) -> Json:
    """Return one ranking as rows of text."""
    rows = []
    for entry in ranked:
        ends = sorted(figure.value(end, size) for end in (entry.low_s, entry.high_s))
        rows.append(
            {
                "place": entry.place,
                "transport": entry.transport,
                "value": quantity_text(figure, figure.value(entry.median_s, size)),
                "interval": interval_text(figure, ends),
                "slower": "" if entry is ranked[0] else slower_text(entry),
            }
        )
    title = f"{figure.title} at {size_text(size)}" if size else figure.title
    return {"figure": figure.key, "title": title, "rows": rows}


def interval_text(figure: Figure, ends: Sequence[float]) -> str:
    """Write an interval; a dash where there were too few samples for one."""
    if not all(math.isfinite(end) for end in ends):
        return "—"
    return " to ".join(quantity_text(figure, end) for end in ends)


def slower_text(entry: Ranked) -> str:
    """Write how much longer than the best, with the interval of the ratio."""
    ends = ""
    if math.isfinite(entry.slower_low):
        ends = f" ({entry.slower_low:.2f} to {entry.slower_high:.2f})"
    return f"{entry.slower:.2f}{ends}"


def switches_of(pool: Pool, transports: Sequence[str]) -> list[Json]:
    """Return where the ping-pong of each transport changes its protocol."""
    found = []
    for transport in transports:
        points = curve_points(pool, transport, "pingpong")
        if not points:
            continue
        cuts = switches([size for size, _ in points], [p.median_s for _, p in points],
                        noise_of(points))  # fmt: skip
        found.append({"transport": transport, "cuts": [switch_text(cut) for cut in cuts]})
    return found


def noise_of(points: Sequence[tuple[int, Pooled]]) -> float:
    """Return the relative scatter of the medians of a curve between rounds."""
    spreads = [
        (max(pooled.round_medians_s) - min(pooled.round_medians_s)) / 2 / pooled.median_s
        for _, pooled in points
        if pooled.median_s > 0
    ]
    return float(sorted(spreads)[len(spreads) // 2]) if spreads else 0.0


def switch_text(cut: Switch) -> str:
    """Write one cut for a person."""
    where = f"{size_text(cut.below_bytes)} and {size_text(cut.above_bytes)}"
    if math.isinf(cut.jump):
        return f"between {where}"
    return f"between {where}, time {cut.jump:.2f} times what the line before it says"


def figure_value(pool: Pool, key: str, transport: str, size: int) -> float | None:
    """Return the quantity of a figure at a size, None where it was not measured."""
    figure = next(figure for figure in FIGURES if figure.key == key)
    pooled = pool.get(Key(transport, figure.benchmark, size))
    return None if pooled is None else figure.value(pooled.median_s, size)


def figure_interval(pool: Pool, key: str, transport: str, size: int) -> list[float]:
    """Return the ends of the interval of that quantity; nothing where it was not measured."""
    figure = next(figure for figure in FIGURES if figure.key == key)
    pooled = pool.get(Key(transport, figure.benchmark, size))
    return [] if pooled is None else [figure.value(end, size) for end in pooled.interval_s()]
