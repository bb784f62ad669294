# SPDX-License-Identifier: BSD-3-Clause
"""Global clock: its error ten seconds after synchronisation.

MPIBlib (2008), section 2.1, warns that clocks run at different rates, so that a global clock must
be set up again and again, which is costly.  Here the clocks of the ranks are skewed on purpose, by
an offset of one second and a drift of 50 µs per second, so that the truth is known.  They are
synchronised once, with the drift learned, left alone for ten seconds, and compared with the truth.
"""

from __future__ import annotations

import math
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Strip, draw_strips
from lanewise.results.quantity import time_text, time_tick
from lanewise.results.read import Samples
from lanewise.results.records import ClockCheck

RANKS = (2, 4)
RUNS = 3
WAIT_S = 10
DRIFT = 50e-6
LIMIT_S = 1e-6


def run(workspace: Workspace) -> Outcome:
    """Measure the clock error several times on two and on four ranks."""
    checks = {
        ranks: [_check(_measure(workspace, ranks, number)) for number in range(1, RUNS + 1)]
        for ranks in RANKS
    }
    worst_s = {ranks: max(abs(c.error_s) for c in found) for ranks, found in checks.items()}
    every = [check for found in checks.values() for check in found]
    figures = {
        "error_us_max": 1e6 * max(worst_s.values()),
        "residual_us_max": 1e6 * max(abs(check.residual_s) for check in every),
    }
    uncorrected = time_text(DRIFT * WAIT_S)
    rows = [
        Row(f"{ranks} ranks: largest error after {WAIT_S} s", "not reported", time_text(error_s))
        for ranks, error_s in worst_s.items()
    ]
    rows.append(Row(f"error after {WAIT_S} s without drift correction", "grows", uncorrected))
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={"ranks": list(RANKS), "runs": RUNS, "wait_s": WAIT_S, "drift": DRIFT},
        files=_draw(workspace, checks),
        launches={"error_us_max": [1e6 * abs(check.error_s) for check in every]},
    )


def _measure(workspace: Workspace, ranks: int, number: int) -> Samples:
    skew = ["--clock", "skewed", "--skew-drift", f"{DRIFT:g}", "--skew-offset", "1"]
    return workspace.measure(
        f"clock-{ranks}-ranks-{number}", ["clock", *skew, "--wait", str(WAIT_S)], ranks
    )


def _check(samples: Samples) -> ClockCheck:
    if not samples.clock_checks:
        raise RunError(f"{samples.path} has no clock record")
    check = samples.clock_checks[-1]
    if math.isnan(check.error_s):
        raise RunError(f"{samples.path} does not know the true error; was the clock skewed?")
    return check


def _draw(workspace: Workspace, checks: dict[int, list[ClockCheck]]) -> list[Path]:
    strips = [
        Strip(f"{ranks} ranks", [max(abs(check.error_s), 1e-10) for check in found])
        for ranks, found in checks.items()
    ]
    title = f"Clock error after {WAIT_S} s, each run"
    figure = draw_strips(title, strips, time_tick, scale="log", limit=LIMIT_S)
    return workspace.save(figure, "global-clock")


EXPERIMENT = Experiment(
    name="global-clock",
    paper="000 §2.1",
    summary="error of the global clock on skewed, drifting clocks after ten seconds",
    run=run,
    figures=(
        Figure(
            "error_us_max", "µs",
            Estimator(
                "largest error of a launch", len(RANKS) * RUNS, 1, "comparison with the true clock"
            ),
            Target("<=", 1.0),
        ),
        Figure(
            "residual_us_max", "µs",
            Estimator("largest residual of a launch", len(RANKS) * RUNS, 1, "synchronisation"),
            "the clock reports it of itself; what is judged is the error, by the true clock",
        ),
    ),
)  # fmt: skip
