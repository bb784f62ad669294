# SPDX-License-Identifier: BSD-3-Clause
"""Migration latency: the time of a message while paths change.

Automatic path migration (2007), Figures 7 and 8.  RDMA writes, one at a time, use the queue pairs
in turn.  Their mean time is taken while no path changes, while all queue pairs are being armed, and
while all of them migrate.  Figure 7 varies the number of queue pairs at 128 bytes, Figure 8 the
size at 512 queue pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.migration.two_ports import exchange, two_hosts
from experiments.workspace import Workspace
from lanewise.plots import Curve, draw_curves
from lanewise.plots.series import Series, draw_series

COUNTS = (1, 4, 16, 64, 256, 512)
SIZES_BYTES = (32, 128, 512, 1024)
MANY = 512
ROUNDS = 3
CASES = (
    ("usual", "usual_latency_s"),
    ("arming", "arming_latency_s"),
    ("migrating", "migrating_latency_s"),
)


def run(workspace: Workspace) -> Outcome:
    """Measure over numbers of queue pairs, then over sizes."""
    with two_hosts() as raised:
        workspace.say(f"128 bytes over {COUNTS[0]} to {COUNTS[-1]} queue pairs")
        words = ["--rounds", str(ROUNDS), "--transitions"]
        many = ",".join(map(str, COUNTS))
        by_count = exchange(raised, [*words, many, "--message-bytes", "128"]).caller
        by_size = []
        for size in SIZES_BYTES:
            workspace.say(f"{size} bytes over {MANY} queue pairs")
            said = exchange(raised, [*words, str(MANY), "--message-bytes", str(size)])
            by_size.append(said.caller[0])
    figures: dict[str, float] = {}
    for name, key in CASES:
        for one in by_count:
            figures[f"{name}_us_{one['queue_pairs']}_queue_pairs"] = 1e6 * float(one[key])
        for size, one in zip(SIZES_BYTES, by_size, strict=True):
            figures[f"{name}_us_{size}_bytes"] = 1e6 * float(one[key])
    over_counts = draw_series(
        [("Microseconds of a write of 128 bytes", _series(by_count))], "queue pairs",
        lambda value: f"{value:.0f}", ticks=COUNTS,
    )  # fmt: skip
    over_sizes = draw_curves([(f"A write on one of {MANY} queue pairs", _curves(by_size))])
    return Outcome(
        figures=figures,
        rows=[_row(f"{n} queue pairs, 128 bytes", figures, f"{n}_queue_pairs") for n in COUNTS]
        + [_row(f"{MANY} queue pairs, {n} bytes", figures, f"{n}_bytes") for n in SIZES_BYTES],
        conditions={"rounds": ROUNDS, "ports": 2},
        files=[*workspace.save(over_counts, "migration-latency"),
               *workspace.save(over_sizes, "migration-latency-sizes")],
        curves={
            f"{kind}/{name}": [(x, float(one[key])) for x, one in zip(places, found, strict=True)]
            for kind, places, found in (("queue_pairs", COUNTS, by_count),
                                        ("sizes", SIZES_BYTES, by_size))
            for name, key in CASES
        },
    )  # fmt: skip


def _series(found: Sequence[dict[str, Any]]) -> list[Series]:
    return [Series(name, COUNTS, [1e6 * float(one[key]) for one in found]) for name, key in CASES]


def _curves(found: Sequence[dict[str, Any]]) -> list[Curve]:
    sizes = [float(size) for size in SIZES_BYTES]
    return [Curve(name, sizes, [float(one[key]) for one in found]) for name, key in CASES]


def _row(what: str, figures: dict[str, float], ending: str) -> Row:
    here = ", ".join(f"{name} {figures[f'{name}_us_{ending}']:.1f} us" for name, _ in CASES)
    return Row(what, "flat", here)


_MEAN = Estimator(
    "mean time of a write while all queue pairs are as the name says", 1, ROUNDS, "rounds"
)
_FLAT = "the paper finds flat curves without numbers; the plots show whether they are"

EXPERIMENT = Experiment(
    name="migration-latency",
    paper="003 Fig. 7, 8",
    summary="the time of a message while queue pairs are armed and migrate",
    run=run,
    figures=tuple(Figure(f"{case}_us_{{what}}", "µs", _MEAN, _FLAT) for case, _ in CASES),
)
