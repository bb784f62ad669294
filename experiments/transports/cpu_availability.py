# SPDX-License-Identifier: BSD-3-Clause
"""CPU availability against the polling interval, for messages of 100 kB.

InfiniPath and XD1 (2006), Figure 10.  A network interface that moves data itself leaves the
processor to the application; one that makes the host copy takes it away.  All transports here copy,
so the availability at short intervals shows how much, and the bandwidth beside it what was gained.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.transports.polling import Polled, centre, ends_of, polled, with_interval
from experiments.transports.transports import AVAILABILITY_BYTES, measured
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots.series import Series, draw_series
from lanewise.results.quantity import rate_text, time_text, time_tick
from lanewise.suite.benchmarks import POLLING, WAITING
from lanewise.suite.plan import ROUNDS
from lanewise.suite.processor import host_rows

BUDGET_S, BUDGET_QUICK_S = 200.0, 100.0
ROUNDS_QUICK = 2

Points = dict[str, list[Polled]]


def run(workspace: Workspace) -> Outcome:
    """Measure both methods of COMB on every transport that starts here."""
    return _run(workspace, BUDGET_S, 0)


def _run(workspace: Workspace, budget_s: float, rounds: int) -> Outcome:
    runs, _ = measured(workspace, (POLLING, WAITING), budget_s, rounds)
    points = polled(runs, AVAILABILITY_BYTES)
    if not points:
        raise RunError("no transport was measured; lanewise suite --list says which start")
    figures = {"transports": float(len(points))}
    rows = []
    for name, found in points.items():
        for one in found:
            label = f"{name}_at_{one.interval_s * 1e6:.0f}us"
            figures.update(with_interval(f"cpu_availability_100KB_{label}", one.availability, 1.0))
            figures.update(with_interval(f"bandwidth_MBps_{label}", one.rate_bytes_per_s, 1e-6))
        shortest = found[0]
        rows.append(
            Row(
                f"{name}, polling every {time_text(shortest.interval_s)}", "0.5 to nearly 1",
                f"{centre(shortest.availability):.2f} at "
                f"{rate_text(centre(shortest.rate_bytes_per_s))}",
            )
        )  # fmt: skip
    notes = [
        f"{row['transport']} {row['size']}: exchange {row['base']}, overhead {row['overhead']}, "
        f"availability {row['availability']}, independent progress {row['progress']}"
        for row in host_rows(runs, list(points))
    ]
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={"ranks": 2, "message_bytes": AVAILABILITY_BYTES, "transports": list(points)},
        files=draw(workspace, points),
        notes=notes,
        curves={
            f"availability/{name}": [(one.interval_s, centre(one.availability)) for one in found]
            for name, found in points.items()
        },
    )


def draw(workspace: Workspace, points: Points) -> list[Path]:
    """Draw availability and bandwidth against the polling interval."""
    panels = []
    for title, key in (("CPU availability, 100 kB", "availability"),
                       ("Bandwidth, both ways (MB/s)", "rate_bytes_per_s")):  # fmt: skip
        scale = 1.0 if key == "availability" else 1e-6
        series = [
            Series(
                name,
                [one.interval_s for one in found],
                [scale * centre(getattr(one, key)) for one in found],
                [scale * ends_of(getattr(one, key))[0] for one in found],
                [scale * ends_of(getattr(one, key))[1] for one in found],
            )
            for name, found in points.items()
        ]
        panels.append((title, series))
    figure = draw_series(panels, "work between two polls", time_tick)
    return workspace.save(figure, "cpu-availability")


_ROUNDS = ROUNDS["quick"]  # what a suite makes where nothing is said
_POOLED = Estimator(
    "geometric mean over rounds of the median of a round, with Student's interval", _ROUNDS, 1,
    "series of repetitions in each round",
)  # fmt: skip
_SHOWN = "it says what a transport costs; none is held to a bound"

EXPERIMENT = Experiment(
    name="cpu-availability",
    paper="004 Fig. 10",
    summary="share of the processor left for work, by polling interval, on every transport",
    run=run,
    quick=Quick(
        partial(_run, budget_s=BUDGET_QUICK_S, rounds=ROUNDS_QUICK), takes_s=BUDGET_QUICK_S
    ),
    figures=(
        Figure(
            "transports", "transports", Estimator("those that were measured", 1, 1, "try"),
            Target(">=", 3.0),
        ),
        Figure("cpu_availability_100KB_{transport}_at_{interval}", "ratio", _POOLED, _SHOWN),
        Figure("bandwidth_MBps_{transport}_at_{interval}", "MB/s", _POOLED, _SHOWN),
    ),
)  # fmt: skip
