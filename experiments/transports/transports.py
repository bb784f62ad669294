# SPDX-License-Identifier: BSD-3-Clause
"""Transports: latency, bandwidth, message rate and CPU availability side by side.

InfiniPath and XD1 (2006) compared four machines, each with its own network.  Here one machine has
several transports, each an MPI over a network, which are measured in interleaved rounds; every
difference comes with its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row
from experiments.transports import polling
from experiments.workspace import Workspace, failing_as_run
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import rate_text, time_text
from lanewise.results.read import Samples
from lanewise.suite import figures, page, state, transport
from lanewise.suite.benchmarks import FIGURES, POLLING
from lanewise.suite.conduct import Request, conduct
from lanewise.suite.execute import Step
from lanewise.suite.plan import ROUNDS
from lanewise.suite.pool import Key, Pool, files_of, pool

BUDGET_S, BUDGET_QUICK_S = 300.0, 150.0
ROUNDS_QUICK = 2
BENCHMARKS = (*dict.fromkeys(figure.benchmark for figure in FIGURES), POLLING)
AVAILABILITY_BYTES = 100_000
# From the text of section 4 of the paper; its curves have no numbers.
PAPER = {
    "latency_8B_us": "InfiniBand 3 times the others",
    "bandwidth_1MiB_MBps": "1.3 GB/s (XD1)",
    "streaming_8B_msgps": "the best 10 times InfiniBand",
    "cpu_availability_100KB": "0.5 (InfiniPath) to nearly 1",
}
DIFFERENCES = (
    ("latency_8B", "pingpong", 8),
    ("bandwidth_1MiB", "pingpong", 1 << 20),
    ("streaming_8B", "streaming", 8),
)


def run(workspace: Workspace) -> Outcome:
    """Measure every transport that starts here."""
    return _run(workspace, BUDGET_S, 0)


def _run(workspace: Workspace, budget_s: float, rounds: int) -> Outcome:
    runs, known = measured(workspace, BENCHMARKS, budget_s, rounds)
    points = pool(runs)
    names = [name for name, found in known.transports.items() if not found.why]
    values = {name: values_of(points, runs, name) for name in names}
    figures_here = {f"{name}_{key}": value for name in names for key, value in values[name].items()}
    ends = {name: intervals_of(points, runs, name) for name in names}
    figures_here |= {f"{name}_{key}": value for name in names for key, value in ends[name].items()}
    figures_here.update(differences(points, names))
    written = page.write_page(workspace.folder / "suite", known)
    return Outcome(
        figures={**figures_here, "transports": float(len(names))},
        rows=rows_of(values),
        conditions={
            "ranks": known.asked.ranks,
            "rounds": known.asked.rounds,
            "transports": names,
            "missing": page.gaps_of(known),
        },
        files=[*draw(workspace, values, ends), written.path],
        notes=page.gaps_of(known),
        curves=curves_of(points, names),
    )


def measured(
    workspace: Workspace, benchmarks: Sequence[str], budget_s: float, rounds: int = 0
) -> tuple[list[Samples], state.State]:
    """Run a suite of these benchmarks on every transport and return its files and its state.

    Without `rounds` there are as many as the suite makes.
    """
    folder = workspace.folder / "suite"
    clear(folder)
    request = Request(
        transports=[transport.find(name) for name in transport.shipped_names()],
        benchmarks=benchmarks,
        budget_s=budget_s,
        rounds=rounds,
    )

    def report(step: Step) -> None:
        workspace.say(f"{step.number}/{step.total} {step.launch.name}")

    with failing_as_run():
        known = conduct(request, folder, workspace.say, report)
        return files_of(folder, known.launches), known


def clear(folder: Path) -> None:
    """Remove what an earlier run of the experiment wrote."""
    for pattern in ("suite.json", "report.html", "samples/*"):
        for path in folder.glob(pattern):
            path.unlink()


def values_of(points: Pool, runs: Sequence[Samples], name: str) -> dict[str, float]:
    """Return the numbers of one transport; those that were not measured are left out."""
    found = {
        "latency_8B_us": scaled(figures.figure_value(points, "latency", name, 8), 1e6),
        "bandwidth_1MiB_MBps": scaled(
            figures.figure_value(points, "bandwidth", name, 1 << 20), 1e-6
        ),
        "streaming_8B_msgps": scaled(figures.figure_value(points, "rate", name, 8), 1.0),
        "cpu_availability_100KB": availability(runs, name),
    }
    return {key: value for key, value in found.items() if math.isfinite(value)}


def intervals_of(points: Pool, runs: Sequence[Samples], name: str) -> dict[str, float]:
    """Return the ends of the interval of each number of a transport, as KEY_low and KEY_high."""
    found: dict[str, float] = {}
    for key, figure, size, scale in (
        ("latency_8B_us", "latency", 8, 1e6),
        ("bandwidth_1MiB_MBps", "bandwidth", 1 << 20, 1e-6),
        ("streaming_8B_msgps", "rate", 8, 1.0),
    ):
        ends = [scale * end for end in figures.figure_interval(points, figure, name, size)]
        found.update(zip((f"{key}_low", f"{key}_high"), sorted(ends), strict=False))
    best = busiest(runs, name)
    if best is not None:
        key = "cpu_availability_100KB"
        known = polling.with_interval(key, best.availability, 1.0)
        found |= {name: value for name, value in known.items() if name != key}
    return {key: value for key, value in found.items() if math.isfinite(value)}


def curves_of(points: Pool, names: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """Return each of the paper's figures against message size, as latency/TRANSPORT.

    Times are in seconds, bandwidths in MB/s, rates in messages a second.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for figure in FIGURES:
        scale = 1e-6 if figure.quantity == "bandwidth" else 1.0
        for name in names:
            curves[f"{figure.key}/{name}"] = [
                (size, scale * figure.value(pooled.median_s, size))
                for size, pooled in figures.curve_points(points, name, figure.benchmark)
            ]
    return curves


def scaled(value: float | None, scale: float) -> float:
    """Return a value in another unit, NaN where there is none."""
    return math.nan if value is None else value * scale


def availability(runs: Sequence[Samples], name: str) -> float:
    """Return the availability where the bandwidth is highest, as the paper reads it."""
    best = busiest(runs, name)
    return math.nan if best is None else polling.centre(best.availability)


def busiest(runs: Sequence[Samples], name: str) -> polling.Polled | None:
    """Return the polling interval with the highest bandwidth, None where there is none."""
    found = polling.polled(runs, AVAILABILITY_BYTES).get(name, [])
    return max(found, key=lambda one: polling.centre(one.rate_bytes_per_s), default=None)


def differences(points: Pool, names: Sequence[str]) -> dict[str, float]:
    """Return how many times as long as the fastest each transport takes, with the interval."""
    found = {}
    for key, benchmark, size in DIFFERENCES:
        pooled = {name: points[Key(name, benchmark, size)] for name in names
                  if Key(name, benchmark, size) in points}  # fmt: skip
        if not pooled:
            continue
        best = min(pooled.values(), key=lambda one: one.median_s)
        for name, one in pooled.items():
            found[f"{name}_{key}_over_best"], low, high = one.ratio_to(best)
            found[f"{name}_{key}_over_best_low"] = low
            found[f"{name}_{key}_over_best_high"] = high
    return found


def rows_of(values: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """Return a row for each number of each transport, beside the range of the paper's machines."""
    return [
        Row(f"{name}: {key}", PAPER[key], number_text(key, value))
        for name, found in values.items()
        for key, value in found.items()
    ]


def number_text(key: str, value: float) -> str:
    """Write a number with its unit."""
    if key.endswith("_us"):
        return time_text(value * 1e-6)
    if key.endswith("_MBps"):
        return rate_text(value * 1e6)
    if key.endswith("_msgps"):
        return figures.count_text(value)
    return f"{value:.2f}"


Numbers = Mapping[str, Mapping[str, float]]


def draw(workspace: Workspace, values: Numbers, ends: Numbers) -> list[Path]:
    """Draw one panel per number, with one bar and its interval per transport."""
    files: list[Path] = []
    for key in PAPER:
        bars = [
            Bar(
                name, found[key],
                low=ends[name].get(f"{key}_low"), high=ends[name].get(f"{key}_high"),
            )
            for name, found in values.items()
            if key in found
        ]  # fmt: skip
        if not bars:
            continue
        panels = [(key, bars)]
        write = partial(number_text, key)
        plot = (
            draw_bars(panels, write)
            if key.startswith("cpu")
            else draw_bars(panels, write, scale="log")
        )
        files += workspace.save(plot, f"transports-{key.lower().replace('_', '-')}")
    return files


_ROUNDS = ROUNDS["quick"]  # what a suite makes where nothing is said
_POOLED = Estimator(
    "geometric mean over rounds of the median of a round",
    _ROUNDS,
    1,
    "series of repetitions in each round",
)
_KNEE = replace(_POOLED, text=f"{_POOLED.text}, at the polling interval with the most bandwidth")
_SHOWN = "transports are compared with each other, and which is best is what is to be found"

EXPERIMENT = Experiment(
    name="transports",
    paper="004 Fig. 1 to 9",
    summary="latency, bandwidth, message rate and CPU availability of every transport here",
    run=run,
    quick=Quick(
        partial(_run, budget_s=BUDGET_QUICK_S, rounds=ROUNDS_QUICK), takes_s=BUDGET_QUICK_S
    ),
    figures=(
        Figure("transports", "transports", Estimator("those that start", 1, 1, "try"), _SHOWN),
        Figure("{transport}_latency_8B_us", "µs", _POOLED, _SHOWN),
        Figure("{transport}_bandwidth_1MiB_MBps", "MB/s", _POOLED, _SHOWN),
        Figure("{transport}_streaming_8B_msgps", "messages/s", _POOLED, _SHOWN),
        Figure("{transport}_cpu_availability_100KB", "ratio", _KNEE, _SHOWN),
        Figure("{transport}_{benchmark}_over_best", "ratio", _POOLED, _SHOWN),
    ),
    old_names=("fabrics",),
)
