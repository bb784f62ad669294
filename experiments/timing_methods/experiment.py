# SPDX-License-Identifier: BSD-3-Clause
"""Timing methods: what each costs, and whether they agree.

MPIBlib (2008), Table 1 and Figure 2, ran scatter and gather once for each of 101 sizes from 0 to
100 KB on 16 nodes, timed in three ways, and found that global timing costs up to 36 times as much
as the other two while the curves agree.  Here the same sweep is run on this machine for the costs,
and a second one with many repetitions for the agreement.  Ranks on one host share a clock, which
would make global timing free; they are given skewed, drifting clocks, as the paper's nodes had.  A
third figure is Lanewise's own: the cost of the `max` method, with one reduction after the loop,
against the scheme of MPIBlib (two reductions and a broadcast after each repetition), and against
one maximum after each.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.experiment import (
    Estimator,
    Experiment,
    Figure,
    Outcome,
    Quick,
    Row,
    Target,
    constant,
)
from experiments.workspace import Workspace, rank_count
from lanewise.errors import RunError
from lanewise.plots import Bar, curve_of, draw_bars, draw_curves
from lanewise.results.quantity import three_digits, time_text
from lanewise.results.read import Samples

OPERATIONS = ("scatter", "gather")
METHODS = ("global", "max", "root")
PAPER_COST_S = {
    ("scatter", "global"): 28.7,
    ("scatter", "max"): 0.8,
    ("scatter", "root"): 0.8,
    ("gather", "global"): 44.7,
    ("gather", "max"): 15.6,
    ("gather", "root"): 15.7,
}
PAPER_RANKS = 16
REPETITIONS = 100
OWN_CLOCKS = ("--clock", "skewed", "--skew-offset", "1", "--skew-drift", "50e-6")

Runs = dict[tuple[str, str], Samples]


@dataclass(frozen=True)
class Scale:
    """The sizes of both sweeps, and the rounds of the deferred reduction; 0: the program's own."""

    cost_sizes: str = "0:100K:1K"
    curve_sizes: str = "0:100K:4K"
    rounds: int = 0


QUICK = Scale("0:100K:10K", "0:100K:25K", 5)


def run(workspace: Workspace, scale: Scale = Scale()) -> Outcome:
    """Measure costs, agreement and the deferred reduction."""
    ranks = rank_count(PAPER_RANKS)
    once = ("--repetitions", "1", "--warmup", "0")
    costs = _sweep(workspace, ranks, "cost", (scale.cost_sizes, *once))
    often = ("--repetitions", str(REPETITIONS))
    curves = _sweep(workspace, ranks, "curve", (scale.curve_sizes, *often))
    rounds = [str(scale.rounds)] if scale.rounds else []
    deferred = workspace.ask("lanewise-timing-cost", ranks=2, arguments=rounds)
    cost_s = {key: _elapsed_s(samples) for key, samples in costs.items()}
    figures = {
        "global_over_max_cost_ratio": _total(cost_s, "global") / _total(cost_s, "max"),
        "root_over_max_cost_ratio": _total(cost_s, "root") / _total(cost_s, "max"),
        "methods_agree_percent": deviation_percent(curves),
        "deferred_max_cost_ratio": float(deferred["ratio"]),
        "deferred_over_one_maximum_ratio": float(deferred["one_maximum"]["ratio"]),
        **{f"cost_{operation}_{method}_s": s for (operation, method), s in cost_s.items()},
    }
    return Outcome(
        figures=figures,
        rows=_rows(cost_s, figures),
        conditions={
            "ranks": ranks,
            "clock": " ".join(OWN_CLOCKS),
            "mpi": next(iter(costs.values())).context.mpi.get("library", ""),
            "deferred": deferred,
        },
        files=_draw(workspace, cost_s, curves),
        curves={
            f"{operation}/{method}": [(p.message_bytes, p.centre_s) for p in samples.points]
            for (operation, method), samples in curves.items()
        },
    )


def _sweep(workspace: Workspace, ranks: int, name: str, sizes: tuple[str, ...]) -> Runs:
    return {
        (operation, method): workspace.measure(
            f"{name}-{operation}-{method}",
            [operation, "--method", method, *OWN_CLOCKS, "--sizes", *sizes],
            ranks,
        )
        for operation in OPERATIONS
        for method in METHODS
    }


def _elapsed_s(samples: Samples) -> float:
    if samples.end is None:
        raise RunError(f"{samples.path} has no end; the measurement was interrupted")
    return samples.end.elapsed_s


def _total(cost_s: Mapping[tuple[str, str], float], method: str) -> float:
    return sum(cost_s[operation, method] for operation in OPERATIONS)


def deviation_percent(curves: Runs) -> float:
    """Return by how much root and global medians miss those of max: median over sizes, percent."""
    misses = []
    for operation in OPERATIONS:
        reference = {p.message_bytes: p.median_s for p in curves[operation, "max"].points}
        for method in ("root", "global"):
            for point in curves[operation, method].points:
                median_s = reference.get(point.message_bytes, 0.0)
                if median_s > 0:
                    misses.append(abs(point.median_s - median_s) / median_s)
    if not misses:
        raise RunError("no size was measured by all methods")
    return 100 * statistics.median(misses)


def _rows(cost_s: Mapping[tuple[str, str], float], figures: Mapping[str, float]) -> list[Row]:
    rows = [
        Row(f"{operation}, {method}: cost of the sweep", time_text(paper_s), time_text(here_s))
        for (operation, method), paper_s in PAPER_COST_S.items()
        for here_s in [cost_s[operation, method]]
    ]
    paper_ratio = _total(PAPER_COST_S, "global") / _total(PAPER_COST_S, "max")
    ratio = figures["global_over_max_cost_ratio"]
    agree = f"{figures['methods_agree_percent']:.1f} %"
    deferred = three_digits(figures["deferred_max_cost_ratio"])
    over_one = three_digits(figures["deferred_over_one_maximum_ratio"])
    return [
        *rows,
        Row("global over max, both operations", three_digits(paper_ratio), three_digits(ratio)),
        Row("root and global medians off those of max", "agree (Fig. 2)", agree),
        Row("max, deferred over the scheme of MPIBlib, 8 B", "not reported", deferred),
        Row("max, deferred over one maximum a repetition, 8 B", "not reported", over_one),
    ]


def _draw(workspace: Workspace, cost_s: Mapping[tuple[str, str], float], runs: Runs) -> list[Path]:
    bars = [
        (
            operation.capitalize(),
            [
                Bar(f"{method}, {where}", seconds[operation, method], where)
                for method in METHODS
                for where, seconds in (("paper", PAPER_COST_S), ("here", cost_s))
            ],
        )
        for operation in OPERATIONS
    ]
    curves = [
        (
            operation.capitalize(),
            [curve_of(method, runs[operation, method].points) for method in METHODS],
        )
        for operation in OPERATIONS
    ]
    return [
        *workspace.save(draw_bars(bars, time_text, scale="log"), "costs"),
        *workspace.save(draw_curves(curves, "linear"), "methods"),
    ]


_PROGRAM = Path(__file__).with_name("timing_cost.cpp")
_DEFERRED = Estimator(
    "median over rounds of the ratio of batches",
    1, constant(_PROGRAM, "rounds"),
    f"rounds of {constant(_PROGRAM, 'batch_repetitions')} repetitions of each",
)  # fmt: skip
_SWEEP = Estimator("of the time of whole sweeps", 1, 1, "sweep of each method")
_PAPER = "the paper's number depends on its network; both are shown"

EXPERIMENT = Experiment(
    name="timing-methods",
    paper="000 Table 1, Fig. 2",
    summary="what max, root and global timing cost, and whether they agree",
    run=run,
    quick=Quick(partial(run, scale=QUICK), takes_s=10.0),
    figures=(
        Figure("deferred_max_cost_ratio", "ratio", _DEFERRED, Target("<=", 0.5)),
        Figure(
            "deferred_over_one_maximum_ratio", "ratio", _DEFERRED,
            "the target is for the scheme of MPIBlib",
        ),
        Figure("global_over_max_cost_ratio", "ratio", _SWEEP, _PAPER),
        Figure("root_over_max_cost_ratio", "ratio", _SWEEP, _PAPER),
        Figure("cost_{operation}_{method}_s", "s", _SWEEP, _PAPER),
        Figure(
            "methods_agree_percent", "%",
            Estimator(
                "median over sizes of the difference of medians to max",
                1, REPETITIONS, "repetitions of each method",
            ),
            "the scatter of medians between launches limits it",
        ),
    ),
)  # fmt: skip
