# SPDX-License-Identifier: BSD-3-Clause
"""Migration under MPI: the integer sort with and without a pulled cable (paper 003, Figs 9 to 12).

Open MPI over UCX on two hosts, protected; the same run with and without the cut, in turn.  The
paper runs IS, FT and LU of the NAS benchmarks on 4 x 2 processes and finds 5 to 7 % for FT and LU.
"""

from __future__ import annotations

import statistics

from lanewise.errors import RunError
from lanewise.plots import Strip, draw_strips
from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.mpi_cuts import PROTECTED, pull_into, seconds_of, sort
from lanewise.reproduce.workspace import Workspace
from lanewise.results.quantity import time_tick

SIZE = ("21", "300")
CUT_S = 2.0
PAIRS = 4
LIMIT_S = 120.0


def run(workspace: Workspace) -> Outcome:
    """Run in turn without and with a cut."""
    whole: list[float] = []
    cut: list[float] = []
    migrations = 0
    for pair in range(PAIRS):
        workspace.say(f"pair {pair + 1} of {PAIRS}")
        done = sort(workspace, PROTECTED, SIZE, LIMIT_S)
        whole.append(seconds_of(done, "a run without a cut"))
        done = sort(workspace, PROTECTED, SIZE, LIMIT_S, pull_into(done, CUT_S))
        cut.append(seconds_of(done, "a run with a cut"))
        migrations += done.migrations
    if migrations == 0:
        raise RunError("no cut fell into a run")
    slowdowns = [100 * (b / a - 1) for a, b in zip(whole, cut, strict=True)]
    figures = {
        "integer_sort_s": statistics.median(whole),
        "integer_sort_cut_s": statistics.median(cut),
        "slowdown_percent": statistics.median(slowdowns),
        "migrations": float(migrations),
        "verified": 1.0,
    }
    strips = [Strip("no cut", whole), Strip("a cut in mid-run", cut)]
    return Outcome(
        figures=figures,
        rows=[
            Row("integer sort, no cut", "", f"{figures['integer_sort_s']:.2f} s"),
            Row("integer sort, a cut", "", f"{figures['integer_sort_cut_s']:.2f} s"),
            Row("slower", "5 to 7 % (FT, LU)", f"{figures['slowdown_percent']:.2f} %"),
        ],
        conditions={"ranks": 2, "hosts": 2, "pairs": PAIRS, "cut_s": CUT_S,
                    "log2_keys": int(SIZE[0]), "iterations": int(SIZE[1])},
        files=workspace.save(
            draw_strips("Integer sort over MPI, protected", strips, time_tick), "migration-mpi"
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="migration-mpi",
    paper="003 Fig. 9-12",
    summary="the NAS integer sort over MPI with a cable pulled in mid-run",
    run=run,
    targets=(Target("slowdown_percent", "<=", 2.0), Target("verified", ">=", 1.0)),
)
