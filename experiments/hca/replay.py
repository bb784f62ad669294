# SPDX-License-Identifier: BSD-3-Clause
"""Faults that are done again: whether a replay of a log has the same faults, over many seeds.

A ping-pong meets faults of calls, completions of any kind and packets, as a script and a seed say.
The log of what it met is then replayed without either.  The order of lines is counted by itself,
because which of a completion of a send and one of a receive is polled first depends on time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.workspace import Workspace, failing_as_run
from lanewise import rdma
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.rdma.lab import Lab

SEEDS, MESSAGES = 50, 500
PORT = 18515
# A message is four packets.
MESSAGE_BYTES = 4096
PINGPONG = (
    "ibv_rc_pingpong", "-g", "0", "-c", "-n", str(MESSAGES), "-s", str(MESSAGE_BYTES)
)  # fmt: skip
# Acknowledgements are not among the packets: how many messages one covers depends on time.
FAULTS = """
[[fault]]
call = "ibv_post_send"
error = "EINVAL"
probability = "0.2 %"

[[fault]]
call = "ibv_post_recv"
probability = "0.02 %"

[[fault]]
completion = "any"
status = "IBV_WC_GENERAL_ERR"
probability = "0.3 %"

[[fault]]
packet = "send"
action = "lose"
probability = "1 %"
times = 3

[[fault]]
packet = "send"
action = "double"
probability = "2 %"

[[fault]]
packet = "send"
action = "delay"
delay = "2 ms"
probability = "1 %"

[[fault]]
packet = "send"
action = "corrupt"
probability = "1 %"
times = 3
"""
PLACES = ("call", "completion", "packet")

Faults = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Pair:
    """The faults of a run and of its replay, in the order of their logs."""

    first: Faults
    again: Faults

    @property
    def same_order(self) -> bool:
        """Tell whether both logs are the same to the byte."""
        return self.first == self.again

    @property
    def identical(self) -> bool:
        """Tell whether both logs have the same faults, in whatever order."""
        return _sorted(self.first) == _sorted(self.again)


def _sorted(faults: Faults) -> list[str]:
    return sorted(map(json.dumps, faults))


def met(lab: Lab, **options: Any) -> Faults:
    """Return the faults that the caller of a ping-pong meets."""
    with lab.start("a1", PINGPONG) as listener:
        listener.wait_until_listening(PORT)
        return lab.run("a2", [*PINGPONG, lab.address("a1")], **options).faults


def replayed(lab: Lab, seed: int) -> Pair:
    """Run a ping-pong with the faults of a seed, and its log again."""
    first = met(lab, faults=FAULTS, seed=seed)
    return Pair(first, met(lab, replay=first) if first else first)


def run(workspace: Workspace, seeds: int = SEEDS) -> Outcome:
    """Replay the faults of each seed."""
    pairs = []
    with failing_as_run(), rdma.testbed() as hosts:
        for seed in range(1, seeds + 1):
            workspace.say(f"seed {seed} of {seeds}")
            lab = Lab(hosts)
            pairs.append(replayed(lab, seed))
            lab.close()
    return _outcome(workspace, pairs)


def _outcome(workspace: Workspace, pairs: Sequence[Pair]) -> Outcome:
    identical = [float(pair.identical) for pair in pairs]
    met_by_place = Counter(
        place for pair in pairs for fault in pair.first for place in PLACES if place in fault
    )
    if not met_by_place:
        raise RunError("no fault happened; see whether ibv_rc_pingpong runs on the device")
    figures = {
        "identical_logs": sum(identical) / len(pairs),
        "same_order": sum(pair.same_order for pair in pairs) / len(pairs),
        **{f"{place}_faults": float(met_by_place[place]) for place in PLACES},
    }
    bars = [Bar(place, float(met_by_place[place]), place) for place in PLACES]
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={"seeds": len(pairs), "messages": MESSAGES, "message_bytes": MESSAGE_BYTES},
        files=workspace.save(
            draw_bars([(f"Faults of {len(pairs)} runs", bars)], lambda value: f"{value:,.0f}"),
            "lab-replay",
        ),
        notes=[
            f"seed {seed}: {json.dumps(pair.first)} became {json.dumps(pair.again)}"
            for seed, pair in enumerate(pairs, 1) if not pair.identical
        ],
        launches={"identical_logs": identical},
    )  # fmt: skip


_PAIR = "run and its replay"

EXPERIMENT = Experiment(
    name="lab-replay",
    paper="003 §2",
    summary="faults of an RDMA program repeated from their log, over 50 seeds",
    run=run,
    figures=(
        Figure(
            "identical_logs", "share",
            Estimator("share of seeds whose replay has the same faults", SEEDS, 1, _PAIR),
            Target(">=", 1.0),
        ),
        Figure(
            "same_order", "share",
            Estimator("share of seeds whose replay has them in the same order", SEEDS, 1, _PAIR),
            "which of two kinds comes first depends on time",
        ),
        Figure(
            "{place}_faults", "faults", Estimator("faults of all seeds", SEEDS, 1, "run"),
            "the seeds decide how many there are",
        ),
    ),
    quick=Quick(partial(run, seeds=5), takes_s=15.0),
)  # fmt: skip
