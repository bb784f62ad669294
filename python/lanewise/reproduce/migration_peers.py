# SPDX-License-Identifier: BSD-3-Clause
"""Migration peers: who survives a pulled cable (paper 003, section 5).

The same sort over each transport; the cable stays out for ten seconds.  One that waits for it has
survived, ten seconds late.
"""

from __future__ import annotations

import re

from lanewise.plots import Bar, draw_bars
from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.mpi_cuts import MPTCP, OPENIB, PROTECTED, TCP, UCX, pull_into, sort
from lanewise.reproduce.workspace import Workspace
from lanewise.results.quantity import time_text

WAYS = (PROTECTED, UCX, OPENIB, TCP, MPTCP)
SIZE = ("21", "200")
CUT_S = 10.0
LIMIT_S = 100.0


def run(workspace: Workspace) -> Outcome:
    """Run each way without and with the cut."""
    figures: dict[str, float] = {}
    rows: list[Row] = []
    bars: list[Bar] = []
    for way in WAYS:
        if not way.available():
            rows.append(Row(way.name, "", f"{way.needs} is not installed"))
            continue
        workspace.say(way.name)
        whole = sort(workspace, way, SIZE, LIMIT_S)
        cut = sort(workspace, way, SIZE, LIMIT_S, pull_into(whole, CUT_S))
        key = re.sub("[^a-z]+", "_", way.name.lower())
        figures[f"{key}_survives"] = float(cut.seconds is not None)
        if whole.seconds is None:
            rows.append(Row(way.name, "", f"does not run here: {whole.last_words}"))
        elif cut.seconds is None:
            rows.append(Row(way.name, "", f"fails: {cut.last_words}"))
        else:
            figures[f"{key}_delay_s"] = cut.seconds - whole.seconds
            rows.append(
                Row(way.name, "", f"survives, {cut.seconds - whole.seconds:+.2f} s "
                                  f"to {whole.seconds:.2f} s")
            )  # fmt: skip
            bars.append(Bar(way.name, cut.seconds))
    return Outcome(
        figures=figures,
        rows=rows,
        conditions={"ranks": 2, "hosts": 2, "cut_s": CUT_S, "cable": "the caller's first"},
        files=workspace.save(
            draw_bars([("Time with a cable out for ten seconds", bars)], time_text),
            "migration-peers",
        ),
    )


EXPERIMENT = Experiment(
    name="migration-peers",
    paper="003 §5",
    summary="which transports of Open MPI survive a pulled cable",
    run=run,
    targets=(Target("ucx_protected_survives", ">=", 1.0),),
)
