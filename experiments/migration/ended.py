# SPDX-License-Identifier: BSD-3-Clause
"""Ended: the outcome of cuts that a protected connection did not survive.

It is the worst that can happen, so that it is kept as a missed target: there are no times.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments.experiment import Estimator, Figure, Outcome, Row, Target
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars

ENDED = "connections_ended"


def figure(cuts: int) -> Figure:
    """Return the figure that says whether a connection ended."""
    text = "protected connections that ended under the cuts; the first one ends the run"
    return Figure(ENDED, "connections", Estimator(text, 1, cuts, "cuts"), Target("<=", 0.0))


def outcome(workspace: Workspace, name: str, conditions: Mapping[str, object], why: str) -> Outcome:
    """Return the outcome of a run that ended with its connection."""
    panel = ("Connections that ended under the cuts", [Bar("ended", 1.0)])
    return Outcome(
        figures={ENDED: 1.0},
        rows=[Row("protected connection", "goes on", "ended")],
        conditions=dict(conditions),
        files=workspace.save(draw_bars([panel], lambda value: f"{value:g}"), name),
        notes=[f"a protected connection ended: {why}"],
    )
