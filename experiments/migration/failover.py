# SPDX-License-Identifier: BSD-3-Clause
"""Migration failover: from the pulled cable to traffic on the other port.

Automatic path migration (2007), section 4.2.2.  The cable in use at the caller is pulled 200 times.
Each time is measured until a message that was posted after the pull is confirmed, including what
the kernel takes to bring the interface down.  Messages in both directions are numbered and
checksummed, and atomics are counted.  Then a cable is pulled without protection, until all retries
are used up.
"""

from __future__ import annotations

import math
import statistics

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.migration.two_ports import (
    PORTS,
    RETRIES_MS,
    cut,
    exchange,
    faults_of,
    retry_exhaustion_ms,
    two_hosts,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Strip, draw_strips
from lanewise.results.quantity import time_tick

CUTS = 200
BETWEEN_S = 0.25
DOWN_S = 0.06
SEED_STEP_S = 0.0137  # no multiple of the period, so that cuts occur at varying moments
LIMIT_MS = 5.0


def run(workspace: Workspace) -> Outcome:
    """Pull the two cables alternately under traffic."""
    cuts: list[str] = []
    for number in range(CUTS):
        at_s = 0.5 + BETWEEN_S * number + (number * SEED_STEP_S) % 0.05
        cuts += cut(PORTS[number % 2], at_s, DOWN_S)
    seconds = 1.0 + BETWEEN_S * CUTS
    workspace.say(f"{CUTS} cuts in {seconds:g} s")
    with two_hosts() as raised:
        said = exchange(
            raised, ["--seconds", f"{seconds:g}"], protect=("--policy", "stay"), at_caller=cuts
        )
        workspace.say("a cut without protection")
        exhausted_ms = retry_exhaustion_ms(raised)
    caller, listener = said.caller[0], said.listener[0]
    times_ms = sorted(ns / 1e6 for ns in caller["resumed_ns"] if ns >= 0)
    if len(times_ms) < CUTS * 0.95:
        raise RunError(f"only {len(times_ms)} of {CUTS} cuts fell into traffic")
    figures = {
        "carrier_to_traffic_ms_p50": statistics.median(times_ms),
        "carrier_to_traffic_ms_p99": times_ms[math.ceil(0.99 * len(times_ms)) - 1],
        "carrier_to_traffic_ms_max": times_ms[-1],
        **faults_of(said),
        "messages": float(caller["sent"] + listener["sent"]),
        "cuts": float(len(times_ms)),
        "retry_exhaustion_ms": exhausted_ms,
        "retry_exhaustion_expected_ms": RETRIES_MS,
    }  # fmt: skip
    strip = Strip("cuts", [ms / 1e3 for ms in times_ms])
    title = "From the pulled cable to traffic on the other port"
    return Outcome(
        figures=figures,
        rows=[
            Row("median", "", f"{figures['carrier_to_traffic_ms_p50']:.2f} ms"),
            Row("99 of 100", "", f"{figures['carrier_to_traffic_ms_p99']:.2f} ms"),
            Row("unprotected, until it fails", f"{RETRIES_MS:.1f} ms", f"{exhausted_ms:.1f} ms"),
            Row("lost, twice", "none", f"{figures['lost']:.0f}, {figures['duplicated']:.0f}"),
        ],
        conditions={"cuts": CUTS, "down_s": DOWN_S, "policy": "stay", "window": 8},
        files=workspace.save(
            draw_strips(title, [strip], time_tick, limit=LIMIT_MS / 1e3), "migration-failover"
        ),
        notes=["on few or busy cores most of the tail is waiting for a processor"],
    )


_TIMES = "of the times from pulling a cable to a confirmed message"
_COUNT = Estimator("number of messages", 1, CUTS, "cuts")
_COUNTED = "what is judged is whether messages were lost or came twice"

EXPERIMENT = Experiment(
    name="migration-failover",
    paper="003 §4.2.2",
    summary="200 pulled cables: how long until traffic goes on, and whether all of it arrives",
    run=run,
    figures=(
        Figure(
            "carrier_to_traffic_ms_p99", "ms",
            Estimator(f"99th percentile {_TIMES}", 1, CUTS, "cuts"), Target("<=", LIMIT_MS),
        ),
        Figure("lost", "messages", _COUNT, Target("<=", 0.0)),
        Figure("duplicated", "messages", _COUNT, Target("<=", 0.0)),
        Figure(
            "carrier_to_traffic_ms_p50", "ms", Estimator(f"median {_TIMES}", 1, CUTS, "cuts"),
            "the target is for the tail",
        ),
        Figure(
            "carrier_to_traffic_ms_max", "ms", Estimator(f"largest {_TIMES}", 1, CUTS, "cuts"),
            "the target is for the 99th percentile",
        ),
        Figure("corrupted", "messages", _COUNT, _COUNTED),
        Figure("atomics_wrong", "atomics", _COUNT, _COUNTED),
        Figure("messages", "messages", _COUNT, "it says how much traffic there was"),
        Figure(
            "cuts", "cuts", Estimator("cuts that fell into traffic", 1, CUTS, "cuts"),
            "the experiment fails below 95 %",
        ),
        Figure(
            "retry_exhaustion_ms", "ms",
            Estimator("time until an unprotected connection fails", 1, 1, "cut"),
            "it follows from the configured timeout and retries",
        ),
        Figure(
            "retry_exhaustion_expected_ms", "ms",
            Estimator("computed from the timeout and the retries", 1, 1, "computation"),
            "it is computed",
        ),
    ),
)  # fmt: skip
