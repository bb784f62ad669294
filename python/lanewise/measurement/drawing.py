# SPDX-License-Identifier: BSD-3-Clause
"""Figures of measurements and of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from lanewise.errors import RequestError
from lanewise.plots import Curve, curve_of, draw_curves, draw_ratios
from lanewise.results.compare import Ratio
from lanewise.results.records import Point
from lanewise.results.table import ranks_of

Run = tuple[str, Sequence[Point]]


def figure_of(runs: Sequence[Run]) -> Figure:
    """Draw one panel for each operation, with the curves of all runs; each is (label, points)."""
    drawn = [(label, [point for point in points if point.centre_s > 0]) for label, points in runs]
    operations = dict.fromkeys(point.operation for _, points in drawn for point in points)
    if not operations:
        raise RequestError("no point has a positive time; there is nothing to draw")
    return draw_curves([(name, _curves(name, drawn)) for name in operations])


def _curves(operation: str, runs: Sequence[Run]) -> list[Curve]:
    curves = []
    for label, points in runs:
        groups: dict[str, list[Point]] = {}
        for point in points:
            if point.operation == operation:
                ranks = "" if point.peer is None else ranks_of(point)
                groups.setdefault(ranks, []).append(point)
        curves += [
            curve_of(f"{label} {ranks}".strip() if len(runs) > 1 else ranks, group)
            for ranks, group in groups.items()
        ]
    return curves


def figure_of_ratios(ratios: Sequence[Ratio]) -> Figure:
    """Draw one panel for each operation, with a curve for each pair of ranks where there are."""
    operations = dict.fromkeys(one.operation for one in ratios)
    return draw_ratios([(name, _ratio_curves(name, ratios)) for name in operations])


def _ratio_curves(operation: str, ratios: Sequence[Ratio]) -> list[Curve]:
    groups: dict[str, list[Ratio]] = {}
    for one in sorted(ratios, key=lambda one: one.message_bytes):
        if one.operation == operation:
            groups.setdefault(one.label, []).append(one)
    return [
        Curve(
            label,
            [one.message_bytes for one in group],
            [one.ratio for one in group],
            [one.low for one in group],
            [one.high for one in group],
        )
        for label, group in groups.items()
    ]
