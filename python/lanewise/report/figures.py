# SPDX-License-Identifier: BSD-3-Clause
"""Figures: what the page draws, as plain data.

One figure of curves for each operation, a curve for each run that measured it;
one heat map of host against host for each size of `pairs`; one list for
`triplets`.  A run has the same label and colour in all of them.  Every point
carries its samples, so that the page can show the distribution behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lanewise.report.distribution import drawn_of, histogram_of, rounded
from lanewise.report.labels import labels_of
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import Samples
from lanewise.results.records import Point

Json = dict[str, Any]

# Why a point stopped, in a cell of a table and in a sentence.  Each launch stops by itself, on the
# interval of its own repetitions, while the interval that is shown is over the launches.
STOPPED_SHORT = {
    "interval": "narrow interval",
    "maximum": "all repetitions",
    "time_limit": "time limit",
    "fixed": "fixed count",
}
STOPPED = {
    "interval": "stopped once the interval was narrow enough",
    "maximum": "stopped at the most repetitions allowed",
    "time_limit": "stopped at the time limit",
    "fixed": "a fixed number of repetitions",
}
STOPPED_IN_LAUNCHES = {
    "interval": "each launch stopped once the interval of its own repetitions was narrow enough",
    "maximum": "a launch stopped at the most repetitions allowed",
    "time_limit": "a launch stopped at the time limit",
    "fixed": "a fixed number in each launch",
}


def figures_of(runs: Sequence[Samples]) -> list[Json]:
    """Return the figures for all `runs`: curves in the order measured, then pairs, triplets."""
    labels = labels_of(runs)
    curves = [_curves(index, name, runs, labels) for index, name in enumerate(_operations(runs))]
    pairs = _tuples(runs, labels, is_pair, "heat", _heat)
    triplets = _tuples(runs, labels, is_triplet, "list", _list)
    return curves + pairs + triplets


def is_pair(point: Point) -> bool:
    """Say whether a point is a round trip between two ranks of `pairs`."""
    return point.peer is not None and point.second_peer is None


def is_triplet(point: Point) -> bool:
    """Say whether a point is one of `triplets`, from one rank to two."""
    return point.second_peer is not None


def is_plain(point: Point) -> bool:
    """Say whether a point belongs on a curve."""
    return point.peer is None


def stopped_text(point: Point) -> str:
    """Say why the repetitions of a point ended, of each launch where there were several."""
    reasons = STOPPED if point.launch_count == 1 else STOPPED_IN_LAUNCHES
    return reasons.get(point.stopped, point.stopped)


def ways_text(point: Point) -> str:
    """Write the sizes of a round trip, `8 B there and back` or `1 KiB there, 0 B back`."""
    there = size_text(point.message_bytes)
    if point.reply_bytes is None or point.reply_bytes == point.message_bytes:
        return f"{there} there and back"
    return f"{there} there, {size_text(point.reply_bytes)} back"


def _operations(runs: Sequence[Samples]) -> list[str]:
    names = (point.operation for run in runs for point in run.points if is_plain(point))
    return list(dict.fromkeys(names))


def _curves(index: int, name: str, runs: Sequence[Samples], labels: Sequence[str]) -> Json:
    def belongs(point: Point) -> bool:
        return is_plain(point) and point.operation == name

    curves = []
    for number, (run, label) in enumerate(zip(runs, labels, strict=True)):
        points = sorted(filter(belongs, run.points), key=lambda point: point.message_bytes)
        if points:
            series = _series(label, points, lambda p: f"{name}, {size_text(p.message_bytes)}")
            curves.append({**series, "run": number})
    return {
        "id": f"curves-{index}-{_slug(name)}",
        "kind": "curves",
        "title": name,
        "runs": len(runs),
        "curves": curves,
        "first": _first(curves),
    }


def _tuples(
    runs: Sequence[Samples],
    labels: Sequence[str],
    wanted: Callable[[Point], bool],
    kind: str,
    make: Callable[[Samples, str, list[Point]], Json],
) -> list[Json]:
    """Return a figure for each run, operation and sizes among the points that are wanted."""
    figures: list[Json] = []
    for run, label in zip(runs, labels, strict=True):
        suffix = f" · {label}" if len(runs) > 1 else ""
        for group in _grouped(filter(wanted, run.points)):
            title = f"{group[0].operation}, {ways_text(group[0])}{suffix}"
            place = f"{kind}-{len(figures)}-{_slug(group[0].operation)}"
            figures.append({"id": place, "kind": kind, "title": title, **make(run, label, group)})
    return figures


def _grouped(points: Iterable[Point]) -> list[list[Point]]:
    groups: dict[Any, list[Point]] = {}
    for point in points:
        key = (point.operation, point.message_bytes, point.reply_bytes)
        groups.setdefault(key, []).append(point)
    return list(groups.values())


def _heat(run: Samples, label: str, points: list[Point]) -> Json:
    names = rank_names(run)
    place = {rank: index for index, rank in enumerate(names)}
    cells: list[list[Any]] = [[None] * len(names) for _ in names]
    texts = [[""] * len(names) for _ in names]
    at: list[list[int | None]] = [[None] * len(names) for _ in names]
    for index, point in enumerate(points):
        peer = point.peer if point.peer is not None else point.root
        there, back = place[point.root], place[peer]
        for row, column in ((there, back), (back, there)):
            cells[row][column] = _number(point.centre_s)
            texts[row][column] = time_text(point.centre_s)
            at[row][column] = index
    series = _series(label, points, lambda p: f"{names[p.root]} to {names[p.peer or 0]}")
    return {
        "names": list(names.values()),
        "cells": {"z": cells, "text": texts, "point": at},
        "curves": [series],
        "first": [0, max(range(len(points)), key=lambda i: points[i].centre_s)],
    }


def rank_names(run: Samples) -> dict[int, str]:
    """Name each rank that occurs by its host where hosts differ, `node3`, else `rank 3`."""
    hosts = {int(place["rank"]): str(place["host"]) for place in run.context.placement}
    points = [point for point in run.points if is_pair(point) or is_triplet(point)]
    pairs = {rank for point in points for rank in (point.root, point.peer or 0)}
    ranks = sorted(pairs | {one.second_peer for one in points if one.second_peer is not None})
    single = len(set(hosts.values())) == len(hosts) and all(rank in hosts for rank in ranks)
    return {rank: hosts[rank] if single else f"rank {rank}" for rank in ranks}


def _list(run: Samples, label: str, points: list[Point]) -> Json:
    names = rank_names(run)

    def name(point: Point) -> str:
        return (
            f"{names[point.root]} to {names[point.peer or 0]} and {names[point.second_peer or 0]}"
        )

    return {"curves": [_series(label, points, name)], "first": [0, 0]}


def _series(label: str, points: Sequence[Point], name: Callable[[Point], str]) -> Json:
    drawn = [drawn_of(point.samples_s) for point in points]
    return {
        "label": label,
        "point_text": [name(point) for point in points],
        "bytes": [point.message_bytes for point in points],
        # What the interval is of: the median, or the mean as `number` says.
        "median_s": [_number(point.centre_s) for point in points],
        "number": [point.number for point in points],
        "low_s": [_number(point.low_s) for point in points],
        "high_s": [_number(point.high_s) for point in points],
        "repetitions": [point.repetitions for point in points],
        "late": [point.late_count for point in points],
        "outliers": [point.outlier_count for point in points],
        "stopped_short": [STOPPED_SHORT.get(point.stopped, point.stopped) for point in points],
        "stopped_text": [stopped_text(point) for point in points],
        "launches": [point.launch_count for point in points],
        "samples_s": [samples_s for samples_s, _ in drawn],
        "numbers": [numbers for _, numbers in drawn],
        "histograms": [histogram_of(point.samples_s) for point in points],
    }


def _number(value: float) -> float | None:
    return rounded(value, 6) if math.isfinite(value) else None


def _first(curves: list[Json]) -> list[int]:
    """Begin with the point whose interval is widest: it is the one that needs a look."""

    def width(at: tuple[int, int]) -> float:
        curve, i = curves[at[0]], at[1]
        median, low, high = (curve[key][i] for key in ("median_s", "low_s", "high_s"))
        if not median or low is None or high is None:
            return -1.0
        return float((high - low) / abs(median))

    places = [(c, i) for c, curve in enumerate(curves) for i in range(len(curve["bytes"]))]
    index, point = max(places, key=width)
    return [index, point]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "operation"
