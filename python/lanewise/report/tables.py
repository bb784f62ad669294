# SPDX-License-Identifier: BSD-3-Clause
"""Tables: the page's tables as rows of text, ready for the template."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanewise.report.figures import Json
from lanewise.report.labels import names_of
from lanewise.results.quantity import rate_text, size_text, time_text
from lanewise.results.read import Samples
from lanewise.results.records import Context

# Sizes a reader looks for first: latency, a page, the eager limit's neighbourhood, bandwidth.
_GLANCE_BYTES = (8, 1 << 10, 1 << 16, 1 << 20)

# Options of the native program that the command adds; --fabric was the old name of --launcher.
_LAUNCHED_WITH_VALUE = {
    "--ranks",
    "--launch",
    "--launcher",
    "--launcher-args",
    "--fabric",
    "--transport",
    "-o",
    "--output",
}
_LAUNCHED_ALONE = {"--events", "--resume", "--plan"}


@dataclass(frozen=True)
class PointRow:
    """One point of a figure; `at` is `curve:point`, `run` counts from zero."""

    at: str
    run: int
    label: str
    point: str
    median: str
    interval: str
    width: str
    repetitions: int
    late: int
    outliers: int
    stopped: str
    rate: str


def point_rows(figure: Json) -> list[PointRow]:
    """Return a row for each point of a figure, curve by curve."""
    return [
        _point_row(figure, index, curve, i)
        for index, curve in enumerate(figure["curves"])
        for i in range(len(curve["bytes"]))
    ]


def _point_row(figure: Json, index: int, curve: Json, i: int) -> PointRow:
    median, low, high = (curve[key][i] for key in ("median_s", "low_s", "high_s"))
    known = median and median > 0 and low is not None and high is not None
    is_curve = figure["kind"] == "curves"
    moves = is_curve and figure["title"] == "pingpong" and median and median > 0
    return PointRow(
        at=f"{index}:{i}",
        run=curve.get("run", 0),
        label=curve["label"],
        point=size_text(curve["bytes"][i]) if is_curve else curve["point_text"][i],
        median=time_text(median),
        interval="" if low is None or high is None else f"{time_text(low)} to {time_text(high)}",
        width=f"±{100 * (high - low) / 2 / median:.1f} %" if known else "",
        repetitions=curve["repetitions"][i],
        late=curve["late"][i],
        outliers=curve["outliers"][i],
        stopped=curve["stopped_short"][i],
        rate=rate_text(curve["bytes"][i] / median) if moves else "",
    )


@dataclass(frozen=True)
class Glance:
    """Times of every curve at a few sizes: `rows` are (operation, label, cells)."""

    sizes: list[str]
    rows: list[tuple[str, str, list[str]]]
    number: str = "median"


def number_of(figures: Sequence[Json]) -> str:
    """Return what the times of figures are: "median", "mean", or "median or mean"."""
    numbers = {one for figure in figures for curve in figure["curves"] for one in curve["number"]}
    return " or ".join(sorted(numbers, reverse=True))


def glance_of(figures: Sequence[Json]) -> Glance:
    """Return the times at the smallest, the familiar and the largest sizes measured."""
    drawn = [figure for figure in figures if figure["kind"] == "curves"]
    curves = [(figure["title"], curve) for figure in drawn for curve in figure["curves"]]
    measured = sorted({size for _, curve in curves for size in curve["bytes"]})
    wanted = [size for size in _GLANCE_BYTES if size in measured]
    if measured:
        wanted = sorted({measured[0], *wanted, measured[-1]})
    rows = []
    for title, curve in curves:
        times = dict(zip(curve["bytes"], curve["median_s"], strict=True))
        cells = [time_text(times[size]) if size in times else "" for size in wanted]
        rows.append((title, curve["label"], cells))
    return Glance([size_text(size) for size in wanted], rows, number_of(drawn))


def clock_rows(runs: Sequence[Samples]) -> list[tuple[str, str, str, str, str]]:
    """Return file, time since synchronisation, residual, its uncertainty, true error."""
    names = names_of([run.path for run in runs])
    return [
        (
            name,
            time_text(check.span_s),
            time_text(check.residual_s),
            time_text(check.uncertainty_s),
            "not known" if math.isnan(check.error_s) else time_text(check.error_s),
        )
        for run, name in zip(runs, names, strict=True)
        for check in run.clock_checks
    ]


def context_rows(runs: Sequence[Samples]) -> list[tuple[str, list[str]]]:
    """Return every key of the contexts with its value in each run, nested keys joined."""
    flat = [_flattened(vars(run.context)) for run in runs]
    keys = list(dict.fromkeys(key for values in flat for key in values))
    return [(key, [values.get(key, "") for values in flat]) for key in keys]


def _flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{key.replace('_', ' ')}"
        if key == "placement":
            flat[name] = _placement_text(value)
        elif key == "arguments":
            flat[name] = shlex.join(str(word) for word in value)
        elif isinstance(value, Mapping):
            flat.update(_flattened(value, f"{name}: "))
        else:
            flat[name] = " ".join(str(value).split())
    return flat


def _placement_text(places: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"rank {place.get('rank')}: {place.get('host')}, cores {place.get('cpus', '?')}"
        for place in places[:64]
    ]
    if len(places) > 64:
        lines.append(f"and {len(places) - 64} more")
    return "\n".join(lines)


def command_of(run: Samples) -> str:
    """Return the command that measures a run again."""
    context = run.context
    words = ["lanewise", "measure", *_own_arguments(context), "-n", str(context.ranks)]
    if context.transport:
        words += ["--transport", context.transport]
    elif context.launcher:
        words += ["--launcher", context.launcher]
    if context.launcher_args:
        words.append(f"--launcher-args={context.launcher_args}")
    return shlex.join([*words, "-o", str(run.path)])


def _own_arguments(context: Context) -> list[str]:
    words: list[str] = []
    skip_next = False
    for word in map(str, context.arguments):
        if skip_next:
            skip_next = False
        elif word in _LAUNCHED_WITH_VALUE:
            skip_next = True
        elif word not in _LAUNCHED_ALONE and word.partition("=")[0] not in _LAUNCHED_WITH_VALUE:
            words.append(word)
    return words
