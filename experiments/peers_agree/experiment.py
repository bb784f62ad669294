# SPDX-License-Identifier: BSD-3-Clause
"""Peers agree: the loop of `measure --as netpipe` against NetPIPE itself.

The two are interleaved, each in a launch of its own, and change who goes first.  Each pair of
launches gives one ratio of times; the interval of the median ratio lies between two order
statistics.  Its end that is farther from 1 is judged, so that a run whose times vary too much does
not pass.
IMB and OSU are in no package registry: whoever has them compares with `lanewise compare`.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.session import run_in_session
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.imports.load import load
from lanewise.plots import Bar, draw_bars
from lanewise.results.intervals import median_interval
from lanewise.results.quantity import size_text, time_text
from lanewise.results.records import Point

SIZES_BYTES = (8, 4096, 65536)
PAIRS = 12
TRIPS_MIN = 100
TOLERANCE = 0.05
LIMIT_S = 120.0
PROGRAM = "NPopenmpi"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Agreement:
    """Times of one-way messages in pairs of launches: `ratios` are ours over NetPIPE's."""

    theirs_s: tuple[float, ...]
    ours_s: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """Return the ratio of each pair."""
        return [ours / theirs for ours, theirs in zip(self.ours_s, self.theirs_s, strict=True)]

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of the median ratio."""
        return median_interval(self.ratios)

    @property
    def apart(self) -> float:
        """Return how far the interval lies from 1, as a share; 0 where it covers 1."""
        low, high = self.interval
        return max(0.0, low - 1.0, 1.0 - high)

    @property
    def apart_at_most(self) -> float:
        """Return how far from 1 the farther end of the interval is; NaN where there is none."""
        low, high = self.interval
        return max(high - 1.0, 1.0 - low)


def netpipe_s(folder: Path, message_bytes: int, trips: int) -> float:
    """Return NetPIPE's one-way time of one message, in seconds; RunError where it fails.

    It is taken from the rate: a time has two digits at small sizes, which are 3 % apart.
    """
    path = folder / "netpipe.txt"
    path.unlink(missing_ok=True)
    sizes = ["-l", str(message_bytes), "-u", str(message_bytes + 1), "-p", "0"]
    line = ["mpirun.openmpi", "-n", "2", PROGRAM, *sizes, "-n", str(trips), "-o", path.name]
    done = run_in_session(line, ROOT, folder=folder, limit_s=LIMIT_S)
    if done.status != 0 or not path.exists():
        raise RunError(
            f"{PROGRAM} failed: {(done.complaints.strip().splitlines() or ['no reason'])[0]}"
        )
    point = printed_by_netpipe(path)
    if point.message_bytes != message_bytes:
        raise RunError(f"{PROGRAM} measured {point.message_bytes} bytes, not {message_bytes}")
    return point.mean_s


def printed_by_netpipe(path: Path) -> Point:
    """Return the first row of NetPIPE's file; RunError where it has none."""
    with failing_as_run():
        return load(path).points[0]


def take_turns(ours: Callable[[], float], theirs: Callable[[], float], pairs: int) -> Agreement:
    """Run both `pairs` times, the one that goes first in turn."""
    ours_s: list[float] = []
    theirs_s: list[float] = []
    for turn in range(pairs):
        for one in (ours, theirs) if turn % 2 else (theirs, ours):
            (ours_s if one is ours else theirs_s).append(one())
    return Agreement(tuple(theirs_s), tuple(ours_s))


def run(workspace: Workspace) -> Outcome:
    """Compare each size."""
    if shutil.which(PROGRAM) is None:
        raise RunError("NetPIPE is not installed; apt-get install netpipe-openmpi")
    found = {size: compared(workspace, size) for size in SIZES_BYTES}
    return Outcome(
        figures=figures_of(found),
        rows=[row_of(size, one) for size, one in found.items()],
        conditions={"pairs": PAIRS, "load": os.getloadavg()[0]},
        files=draw(workspace, found),
    )


def figures_of(found: Mapping[int, Agreement]) -> dict[str, float]:
    """Return how far the worst size is apart, and the ratio of each with its interval.

    A size without an interval leaves it undefined.
    """
    figures = {
        "apart_at_most_percent": 100 * float(np.max([one.apart_at_most for one in found.values()])),
        "apart_percent": 100 * max(one.apart for one in found.values()),
    }
    for size, one in found.items():
        key = f"ratio_{size}_bytes"
        low, high = one.interval
        figures |= {key: statistics.median(one.ratios), f"{key}_low": low, f"{key}_high": high}
    return figures


def compared(workspace: Workspace, message_bytes: int) -> Agreement:
    """Return the pairs of one size."""
    line = ["pingpong", "--as", "netpipe", "--sizes", str(message_bytes), "--repetitions", "1"]

    trips = [0]

    def ours() -> float:
        point = workspace.measure("ours", line, 2, launcher="openmpi").looped[0]
        # A shorter series is more likely to be undisturbed, so NetPIPE's has as many trips.
        trips[0] = point.calls or TRIPS_MIN
        return point.median_s

    ours()
    return take_turns(ours, lambda: netpipe_s(workspace.folder, message_bytes, trips[0]), PAIRS)


def row_of(message_bytes: int, found: Agreement) -> Row:
    """Return the line of one size."""
    low, high = found.interval
    ratio = f"ratio {statistics.median(found.ratios):.3f} ({low:.3f} to {high:.3f})"
    return Row(
        f"{size_text(message_bytes)}, one way",
        time_text(statistics.median(found.theirs_s)),
        f"{time_text(statistics.median(found.ours_s))}, {ratio}",
    )


def draw(workspace: Workspace, found: dict[int, Agreement]) -> list[Path]:
    """Draw the ratio of each size with its interval."""
    bars: Sequence[Bar] = [
        Bar(
            size_text(size), statistics.median(one.ratios), "ratio",
            low=one.interval[0], high=one.interval[1],
        )
        for size, one in found.items()
    ]  # fmt: skip
    panels = [("Lanewise's loop over NetPIPE, one-way time", bars)]
    return workspace.save(
        draw_bars(panels, lambda value: f"{value:.3f}", target=1.0), "peers-agree"
    )


_SERIES = "series of round trips at each size"

EXPERIMENT = Experiment(
    name="peers-agree",
    paper="000 §1, beyond",
    summary="the loop of measure --as netpipe against NetPIPE",
    run=run,
    figures=(
        Figure(
            "apart_at_most_percent", "%",
            Estimator(
                "largest distance from 1 of an end of the interval of the median ratio",
                1, PAIRS, "pairs of launches",
            ),
            Target("<=", 100 * TOLERANCE),
        ),
        Figure(
            "apart_percent", "%",
            Estimator(
                "largest distance from 1 of the interval of the median ratio, 0 where it covers 1",
                1, PAIRS, "pairs of launches",
            ),
            "noise alone makes it small; the target is for the end of the interval that is farther",
        ),
        Figure(
            "ratio_{message}_bytes", "ratio",
            Estimator("median ratio of the pairs of launches", PAIRS, 1, _SERIES),
            "the target is for the interval",
        ),
    ),
)  # fmt: skip
