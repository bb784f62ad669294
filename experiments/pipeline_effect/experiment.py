# SPDX-License-Identifier: BSD-3-Clause
"""Pipeline effect: repetitions that are not isolated overlap.

MPIBlib (2008), Figure 1, shows IMB's times on 16 nodes for one repetition and for a series: in a
series the root runs ahead, so that for small and large messages an operation seems faster than it
is.  Here each operation is measured isolated and in series of a hundred, with the same clock and
the same sizes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row
from experiments.workspace import Workspace, rank_count
from lanewise.errors import RunError
from lanewise.plots import curve_of, draw_curves
from lanewise.results.quantity import three_digits
from lanewise.results.read import Samples

OPERATIONS = ("scatter", "gather", "bcast")
SERIES_LENGTH = 100
SIZES = "1:128K:x2"
SIZES_QUICK = "8:128K:x16"
TIME_LIMIT_S = 2.0
TIME_LIMIT_QUICK_S = 0.2
WAYS = ("isolated", f"in series of {SERIES_LENGTH}")
PAPER_RANKS = 16

# The first entry of the paper's figure is the one that the short key names.
KEY = "isolated_over_pipelined_8B"

Runs = dict[str, tuple[Samples, Samples]]


def run(workspace: Workspace, sizes: str = SIZES, time_limit_s: float = TIME_LIMIT_S) -> Outcome:
    """Measure every operation isolated and in series."""
    ranks = rank_count(PAPER_RANKS)
    limits = ["--sizes", sizes, "--time-limit", str(time_limit_s)]
    runs = {operation: _both(workspace, ranks, operation, limits) for operation in OPERATIONS}
    ratios = {operation: ratio_at(*both, 8) for operation, both in runs.items()}
    figures = {KEY: ratios["scatter"]}
    figures.update({f"{KEY}_{operation}": ratio for operation, ratio in ratios.items()})
    rows = [
        Row(f"{operation}, 8 B: isolated / series", _paper_words(operation), three_digits(ratio))
        for operation, ratio in ratios.items()
    ]
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={
            "ranks": ranks,
            "mpi": runs["scatter"][0].context.mpi.get("library", ""),
            "pipeline_length": SERIES_LENGTH,
        },
        files=_draw(workspace, runs),
        curves={
            f"{operation}/{way}": [(p.message_bytes, p.centre_s) for p in samples.points]
            for operation, both in runs.items()
            for way, samples in zip(WAYS, both, strict=True)
        },
    )


def _both(
    workspace: Workspace, ranks: int, operation: str, limits: list[str]
) -> tuple[Samples, Samples]:
    line = [operation, *limits]
    isolated = workspace.measure(f"{operation}-isolated", [*line, "--pipeline", "1"], ranks)
    series = ["--pipeline", str(SERIES_LENGTH), "--repetitions", "10:100"]
    return isolated, workspace.measure(f"{operation}-pipelined", [*line, *series], ranks)


def ratio_at(isolated: Samples, pipelined: Samples, message_bytes: int) -> float:
    """Return the isolated median over the pipelined one at a size; RunError without a point."""
    medians = [
        next((p.median_s for p in run.points if p.message_bytes == message_bytes), 0.0)
        for run in (isolated, pipelined)
    ]
    if min(medians) <= 0:
        raise RunError(f"no positive median at {message_bytes} B in {pipelined.path}")
    return medians[0] / medians[1]


def _paper_words(operation: str) -> str:
    return {"scatter": "above 1 (Fig. 1)", "gather": "shown (Fig. 1)"}.get(operation, "not shown")


def _draw(workspace: Workspace, runs: Runs) -> list[Path]:
    panels = [
        (
            operation.capitalize(),
            [
                curve_of(way, samples.points)
                for way, samples in zip(WAYS, runs[operation], strict=True)
            ],
        )
        for operation in OPERATIONS
    ]
    return workspace.save(draw_curves(panels), "pipeline-effect")


_MEDIANS = Estimator(
    "median isolated time over the median time in a series", 1, 1,
    f"measurement of {TIME_LIMIT_S:g} s of each kind",
)  # fmt: skip
_WRONG = "it says how wrong a series is, which depends on the MPI"

EXPERIMENT = Experiment(
    name="pipeline-effect",
    paper="000 Fig. 1",
    summary="how much faster an operation seems when repetitions overlap",
    run=run,
    quick=Quick(partial(run, sizes=SIZES_QUICK, time_limit_s=TIME_LIMIT_QUICK_S), takes_s=6.0),
    figures=(
        Figure(KEY, "ratio", _MEDIANS, _WRONG),
        Figure(f"{KEY}_{{operation}}", "ratio", _MEDIANS, _WRONG),
    ),
)
