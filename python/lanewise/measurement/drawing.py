# SPDX-License-Identifier: BSD-3-Clause
"""Figures of measurements and of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from lanewise.errors import RequestError
from lanewise.plots import Curve, curve_of, draw_curves, draw_ratios
from lanewise.results.compare import Ratio
from lanewise.results.records import Point
from lanewise.results.table import ranks_of, single_mark
from lanewise.tuning.content import Choice, CollectiveTuning, Figures, Tuning

Run = tuple[str, Sequence[Point]]


def figure_of(runs: Sequence[Run]) -> Figure:
    """Draw one panel for each operation, with the curves of all runs; each is (label, points)."""
    drawn = [(label, [point for point in points if point.centre_s > 0]) for label, points in runs]
    operations = dict.fromkeys(point.operation for _, points in drawn for point in points)
    if not operations:
        raise RequestError("no point has a positive time; there is nothing to draw")
    panels = []
    for name in operations:
        shown = [
            (label, [point for point in points if point.operation == name])
            for label, points in drawn
        ]
        title = _title(name, [point for _, points in shown for point in points])
        panels.append((title, _curves(shown)))
    return draw_curves(panels)


def _title(name: str, shown: Sequence[Point | Ratio]) -> str:
    """Return the title of a panel, which says where what is shown is of a single launch."""
    counts = {one.launches if isinstance(one, Ratio) else one.launch_count for one in shown}
    if counts == {1}:
        return f"{name}{single_mark(1)}"
    return f"{name} (partly 1 launch)" if 1 in counts else name


def _curves(runs: Sequence[Run]) -> list[Curve]:
    curves = []
    for label, points in runs:
        groups: dict[str, list[Point]] = {}
        for point in points:
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
    panels = []
    for name in operations:
        shown = [one for one in ratios if one.operation == name]
        panels.append((_title(name, shown), _ratio_curves(shown)))
    return draw_ratios(panels)


def _ratio_curves(ratios: Sequence[Ratio]) -> list[Curve]:
    groups: dict[str, list[Ratio]] = {}
    for one in sorted(ratios, key=lambda one: one.message_bytes):
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


def figure_of_tuning(tuning: Tuning) -> Figure:
    """Draw one panel for each collective: the default, and each algorithm that has a rule."""
    panels = [(name, _tuned_curves(one)) for name, one in tuning.collectives.items() if one.points]
    if not panels:
        raise RequestError("nothing was measured; there is nothing to draw")
    return draw_curves(panels)


def _tuned_curves(content: CollectiveTuning) -> list[Curve]:
    ruled = {
        (origin, rule.algorithm, rule.segment_bytes, rule.lanes)
        for origin, rules in (("lanewise", content.rules), ("mpi", content.mpi_rules))
        for rule in rules
    }
    measured: dict[str, list[tuple[int, Figures]]] = {}
    for point in content.points:
        measured.setdefault("default", []).append((point.message_bytes, point.default))
        for one in point.candidates:
            choice = one.choice
            if (choice.origin, choice.algorithm, choice.segment_bytes, choice.lanes) in ruled:
                curve = measured.setdefault(_label(choice), [])
                curve.append((point.message_bytes, one.figures))
    return [_curve(label, figures) for label, figures in measured.items()]


def _label(choice: Choice) -> str:
    lanes = f", {choice.lanes} lanes" if choice.lanes > 1 else ""
    return f"{choice.algorithm}{lanes}{' of the MPI' if choice.origin == 'mpi' else ''}"


def _curve(label: str, measured: Sequence[tuple[int, Figures]]) -> Curve:
    ordered = sorted(measured, key=lambda one: one[0])
    return Curve(
        label,
        [size for size, _ in ordered],
        [figures.median_s for _, figures in ordered],
        [figures.low_s for _, figures in ordered],
        [figures.high_s for _, figures in ordered],
    )
