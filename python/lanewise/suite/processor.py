# SPDX-License-Identifier: BSD-3-Clause
"""Figures of what messages cost the processor, and of what is left of an application's speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.results.intervals import LAUNCHES_MIN, launch_interval, median_interval
from lanewise.results.quantity import size_text, time_text
from lanewise.results.read import Samples
from lanewise.results.records import Polling, Waiting
from lanewise.suite import application
from lanewise.suite.benchmarks import APPLICATION
from lanewise.suite.knee import HostCost, host_costs
from lanewise.suite.scale import efficiencies
from lanewise.suite.state import SAMPLES

Json = dict[str, Any]


@dataclass(frozen=True)
class Polled:
    """One polling interval: the values of each round."""

    interval_s: float
    availability: tuple[tuple[float, ...], ...]
    rate_bytes_per_s: tuple[tuple[float, ...], ...]


def polled(runs: Sequence[Samples]) -> dict[tuple[str, int], list[Polled]]:
    """Return the points of polling by transport and size, sorted by interval."""
    grouped: dict[tuple[str, int], dict[float, list[Polling]]] = {}
    for run in runs:
        for record in run.polling:
            points = grouped.setdefault((run.context.transport_name, record.message_bytes), {})
            points.setdefault(float(f"{record.interval_s:.4g}"), []).append(record)
    return {
        key: [
            Polled(
                interval,
                tuple(one.availability for one in records),
                tuple(one.rate_bytes_per_s for one in records),
            )
            for interval, records in sorted(points.items())
        ]
        for key, points in grouped.items()
    }


def polling_figures(runs: Sequence[Samples], transports: Sequence[str]) -> list[Json]:
    """Return availability and bandwidth against the polling interval, for each size measured."""
    points = polled(runs)
    figures = []
    for size in sorted({size for _, size in points}):
        name = f"{size // 1000} kB" if size % 1000 == 0 else size_text(size)
        share = figure(
            f"availability-{size}", f"CPU availability, {name} messages", "Fig. 10", "share"
        )
        rate = figure(
            f"polled-rate-{size}", f"Bandwidth while working, {name} messages", "section 3", "rate"
        )
        for index, transport in enumerate(transports):
            found = points.get((transport, size), [])
            if found:
                shares = [(one.interval_s, one.availability) for one in found]
                rates = [(one.interval_s, one.rate_bytes_per_s) for one in found]
                share["curves"].append(curve(transport, index, shares))
                rate["curves"].append(curve(transport, index, rates))
        figures += [share, rate]
    return figures


def figure(key: str, title: str, paper: str, unit: str) -> Json:
    """Return a figure against the polling interval, without curves yet."""
    y: Json = {"label": "bandwidth, both ways", "unit": unit, "log": True}
    if unit == "share":
        y = {"label": "availability", "unit": unit, "log": False, "low": 0, "high": 1}
    return {
        "id": f"figure-{key}",
        "title": title,
        "paper": paper,
        "x": {"label": "work between two looks", "unit": "time", "log": True},
        "y": y,
        "curves": [],
        "better": "higher",
    }


def curve(
    label: str, colour: int, points: Sequence[tuple[float, Sequence[Sequence[float]]]]
) -> Json:
    """Return a curve of values over rounds with their intervals."""
    found = [over_rounds(rounds) for _, rounds in points]
    return {
        "label": label,
        "colour": colour,
        "x": [x for x, _ in points],
        "y": [centre for centre, _, _ in found],
        "low": [None if np.isnan(low) else low for _, low, _ in found],
        "high": [None if np.isnan(high) else high for _, _, high in found],
        "text": [f"{sum(map(len, rounds))} repetitions" for _, rounds in points],
    }


def over_rounds(rounds: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """Return the centre of the medians of rounds with its interval; of one round, that within."""
    medians = [float(np.median(values)) for values in rounds]
    if len(medians) < LAUNCHES_MIN:
        return (medians[0], *median_interval(rounds[0]))
    return launch_interval(medians)


def host_rows(runs: Sequence[Samples], transports: Sequence[str]) -> list[Json]:
    """Return what messages of each size cost the host, by post-work-wait, as rows of text."""
    rows = []
    for transport in transports:
        rows += [
            {
                "transport": transport,
                "size": size_text(cost.message_bytes),
                "base": time_text(cost.knee.base_s),
                "overhead": time_text(max(0.0, cost.knee.overhead_s)),
                "availability": f"{100 * cost.knee.availability:.0f} %",
                "overlap": f"{100 * cost.overlap:.0f} %",
                "progress": f"{100 * cost.progress:.0f} %",
            }
            for cost in costs_of(runs, transport)
        ]
    return rows


def costs_of(runs: Sequence[Samples], transport: str) -> list[HostCost]:
    """Return the cost of each size on a transport, rounds together."""
    records = [
        record for run in runs if run.context.transport_name == transport for record in run.waiting
    ]
    return host_costs(pooled_waiting(records))


def host_figures(runs: Sequence[Samples], transports: Sequence[str]) -> list[Json]:
    """Return what post-work-wait says against message size: a figure each, a curve a transport."""
    costs = {transport: costs_of(runs, transport) for transport in transports}
    if not any(costs.values()):
        return []
    share: Json = {"label": "share", "unit": "share", "log": False, "low": 0, "high": 1}
    time: Json = {"label": "time", "unit": "time", "log": True}
    kinds: tuple[tuple[str, str, Json, Callable[[HostCost], float]], ...] = (
        ("availability", "Availability, post-work-wait", share, lambda c: c.knee.availability),
        ("overlap", "Work done during the transfer", share, lambda c: c.overlap),
        ("progress", "Transfer without a call to the MPI", share, lambda c: c.progress),
        ("overhead", "Overhead of the host", time, lambda c: max(0.0, c.knee.overhead_s)),
    )
    return [
        {
            "id": f"figure-host-{key}",
            "title": title,
            "paper": "section 2.5",
            "x": {"label": "message size", "unit": "bytes", "log": True},
            "y": axis,
            "curves": [
                host_curve(transport, index, found, value)
                for index, (transport, found) in enumerate(costs.items())
                if found
            ],
            "better": "lower" if axis["unit"] == "time" else "higher",
        }
        for key, title, axis, value in kinds
    ]


def host_curve(
    transport: str, colour: int, costs: Sequence[HostCost], value: Callable[[HostCost], float]
) -> Json:
    """Return one quantity of post-work-wait against size; a fit over all work has no interval."""
    return {
        "label": transport,
        "colour": colour,
        "x": [cost.message_bytes for cost in costs],
        "y": [value(cost) for cost in costs],
        "low": [None] * len(costs),
        "high": [None] * len(costs),
        "text": [f"exchange {time_text(cost.knee.base_s)}" for cost in costs],
    }


def pooled_waiting(records: Sequence[Waiting]) -> list[Waiting]:
    """Return the records with the values of all rounds together."""
    pooled: dict[tuple[int, float], Waiting] = {}
    for one in records:
        key = (one.message_bytes, one.over_base)
        before = pooled.get(key)
        pooled[key] = one if before is None else replace(
            before,
            alone_s=before.alone_s + one.alone_s, loop_s=before.loop_s + one.loop_s,
            post_s=before.post_s + one.post_s, wait_s=before.wait_s + one.wait_s,
        )  # fmt: skip
    return list(pooled.values())


def application_times(
    folder: Path, launches: Sequence[str], transport: str
) -> dict[int, list[float]]:
    """Return the seconds of the application on a transport by number of ranks."""
    prefix = f"{transport}.{APPLICATION}."
    paths = [folder / SAMPLES / f"{name}.json" for name in launches if name.startswith(prefix)]
    return application.read([path for path in paths if path.is_file()])


def application_figure(times: Mapping[str, Mapping[int, Sequence[float]]]) -> Json:
    """Return the efficiency of the application against the number of ranks."""
    curves = []
    ends = [1.0]
    for index, (transport, found) in enumerate(times.items()):
        if not found:
            continue
        points = efficiencies(found, "scaled")
        ends += [end for one in points for end in (one.value, one.high) if not np.isnan(end)]
        curves.append(
            {
                "label": transport,
                "colour": index,
                "x": [one.ranks for one in points],
                "y": [one.value for one in points],
                "low": [None if np.isnan(one.low) else one.low for one in points],
                "high": [None if np.isnan(one.high) else one.high for one in points],
                "text": [f"median {time_text(one.median_s)}" for one in points],
            }
        )
    counts = sorted({count for found in times.values() for count in found})
    return {
        "id": "figure-application",
        "title": "Application efficiency, LAMMPS with scaled work",
        "paper": "Fig. 11",
        "x": {"label": "ranks", "unit": "ranks", "log": True, "at": counts},
        "y": {
            "label": "efficiency",
            "unit": "share",
            "log": False,
            "low": 0,
            "high": max(ends),
        },
        "curves": curves,
        "better": "higher",
    }
