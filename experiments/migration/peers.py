# SPDX-License-Identifier: BSD-3-Clause
"""Migration peers: which transports survive a pulled cable.

Automatic path migration (2007), section 5.  The same sort runs over each transport; the cable stays
out for ten seconds.  A transport that waits for it has survived, ten seconds late.
"""

from __future__ import annotations

import re
from functools import partial

from experiments.applications import integer_sort
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.migration.mpi_cuts import (
    MPTCP,
    NONE,
    OPENIB,
    PROTECTED,
    SORT_TRIAL,
    TCP,
    Pull,
    Ran,
    launch,
    pull_into,
    scaled,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text

WAYS = (PROTECTED, NONE, OPENIB, TCP, MPTCP)
LOG2_KEYS = 21
SORT_S = 8.0
CUT_S = 10.0
LIMIT_S = 90.0  # a run that hangs has failed
ENDING_S = 1.0  # at most, from the end of sorting to the last output


def run(workspace: Workspace) -> Outcome:
    """Run each transport without and with the cut."""
    sorter = partial(integer_sort, "openmpi", LOG2_KEYS)
    iterations = scaled(workspace, sorter, SORT_TRIAL, SORT_S)
    sort = sorter(iterations)
    figures: dict[str, float] = {}
    rows: list[Row] = []
    bars: list[Bar] = []
    for way in WAYS:
        if not way.available():
            rows.append(Row(way.name, "", f"{way.needs} is not installed"))
            continue
        workspace.say(way.name)
        whole = launch(workspace, way, sort, LIMIT_S)
        if whole.seconds is None:
            rows.append(Row(way.name, "", f"does not run here: {whole.last_words}"))
            continue
        pull = pull_into(whole, CUT_S)
        cut = launch(workspace, way, sort, LIMIT_S, pull)
        key = re.sub("[^a-z]+", "_", way.name.lower())
        figures[f"{key}_survives"] = float(cut.seconds is not None)
        figures[f"{key}_whole_s"] = whole.seconds
        if cut.seconds is None:
            rows.append(Row(way.name, "", f"fails: {cut.last_words}"))
            continue
        if not fell_into(pull, cut):
            raise RunError(f"{way.name}: the cut did not fall into the sorting")
        late_s = cut.seconds - whole.seconds
        figures[f"{key}_delay_s"] = late_s
        rows.append(Row(way.name, "", f"survives, {late_s:+.2f} s to {whole.seconds:.2f} s"))
        bars.append(Bar(way.name, cut.seconds))
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={
            "ranks": 2,
            "hosts": 2,
            "cut_s": CUT_S,
            "cable": "the caller's first",
            "iterations": iterations,
        },
        files=workspace.save(
            draw_bars([("Time with a cable out for ten seconds", bars)], time_text),
            "migration-peers",
        ),
    )


def fell_into(pull: Pull, ran: Ran) -> bool:
    """Tell whether the cable was pulled in mid-run and the run ended well."""
    assert ran.seconds is not None
    return ran.ended_s - ran.seconds - ENDING_S < pull.at_s < ran.ended_s


_CUT = Estimator("of a run with a cable out", 1, 1, "run")
_PEER = "what others do is shown and not judged"

EXPERIMENT = Experiment(
    name="migration-peers",
    paper="003 §5",
    summary="which transports of Open MPI survive a pulled cable",
    run=run,
    figures=(
        Figure("ucx_protected_survives", "0 or 1", _CUT, Target(">=", 1.0)),
        Figure("{transport}_survives", "0 or 1", _CUT, _PEER),
        Figure("{transport}_delay_s", "s", _CUT, "one run says too little to be judged"),
        Figure(
            "{transport}_whole_s", "s", Estimator("of a run without a cut", 1, 1, "run"),
            "it depends on the machine",
        ),
    ),
)  # fmt: skip
