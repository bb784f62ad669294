# SPDX-License-Identifier: BSD-3-Clause
"""Migration transitions: loading and migrating N queue pairs at once.

Automatic path migration (2007), Figures 5 and 6.  The caller requests the transition of all queue
pairs, and the time is measured until the last is armed, or until the last event of a migration has
arrived, while RDMA writes use the queue pairs in turn.  The paper finds lines, drawn without
numbers, so what can be compared is the ratio of the two lines.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.migration.two_ports import exchange, slope_and_r2, two_hosts
from experiments.workspace import Workspace
from lanewise.plots.series import Series, draw_series

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
FEW = 5  # of these the paper's first figure shows
ROUNDS = 5
MESSAGE_BYTES = 128


def run(workspace: Workspace) -> Outcome:
    """Time both transitions for 1 to 512 queue pairs."""
    workspace.say(f"{COUNTS[0]} to {COUNTS[-1]} queue pairs, {ROUNDS} rounds each")
    words = ["--transitions", ",".join(map(str, COUNTS)), "--rounds", str(ROUNDS),
             "--message-bytes", str(MESSAGE_BYTES)]  # fmt: skip
    with two_hosts() as raised:
        found = exchange(raised, words).caller
    counts = [float(one["queue_pairs"]) for one in found]
    armed = [float(one["armed_s"]) for one in found]
    migrated = [float(one["migrated_s"]) for one in found]
    figures: dict[str, float] = {}
    for count, arming, migrating in zip(counts, armed, migrated, strict=True):
        figures[f"migrated_armed_us_{count:.0f}"] = 1e6 * arming
        figures[f"armed_migrated_us_{count:.0f}"] = 1e6 * migrating
    slope_armed, r2_armed = slope_and_r2(counts, armed)
    slope_migrated, r2_migrated = slope_and_r2(counts, migrated)
    figures |= {
        "migrated_armed_us_each": 1e6 * slope_armed, "migrated_armed_r2": r2_armed,
        "armed_migrated_us_each": 1e6 * slope_migrated, "armed_migrated_r2": r2_migrated,
        "r2": min(r2_armed, r2_migrated),
    }  # fmt: skip
    series = [Series("MIGRATED to ARMED", counts, [1e3 * one for one in armed]),
              Series("ARMED to MIGRATED", counts, [1e3 * one for one in migrated])]  # fmt: skip
    figure = draw_series(
        [("Milliseconds until the last has made it", series)], "queue pairs",
        lambda value: f"{value:.0f}", ticks=COUNTS[6:], scale="linear",
    )  # fmt: skip
    return Outcome(
        figures=figures,
        rows=_rows(figures),
        conditions={"rounds": ROUNDS, "message_bytes": MESSAGE_BYTES, "ports": 2},
        files=workspace.save(figure, "migration-transitions"),
        curves={
            f"{kind}/{name}": [(n, s) for n, s in zip(counts, seconds, strict=True) if n in which]
            for kind, which in (("few", COUNTS[:FEW]), ("many", COUNTS[FEW:]))
            for name, seconds in (("MIGRATED to ARMED", armed), ("ARMED to MIGRATED", migrated))
        },
    )


def _rows(figures: dict[str, float]) -> list[Row]:
    rows = [
        Row(
            f"{count} queue pairs, load and migrate", "",
            f"{figures[f'migrated_armed_us_{count}']:.0f} us, "
            f"{figures[f'armed_migrated_us_{count}']:.0f} us",
        )
        for count in COUNTS
    ]  # fmt: skip
    return [
        *rows,
        Row("R2 of the line, load", "linear", f"{figures['migrated_armed_r2']:.4f}"),
        Row("R2 of the line, migrate", "linear", f"{figures['armed_migrated_r2']:.4f}"),
    ]


_ALL = Estimator("time until the last queue pair has made it", 1, ROUNDS, "rounds")
_LINE = Estimator(f"line through {len(COUNTS)} numbers of queue pairs", 1, ROUNDS, "rounds")
_TIME = "the paper draws lines without numbers; what is judged is how straight they are"

EXPERIMENT = Experiment(
    name="migration-transitions",
    paper="003 Fig. 5, 6",
    summary="the time to arm and to migrate 1 to 512 queue pairs",
    run=run,
    figures=(
        Figure(
            "r2", "ratio",
            replace(_LINE, text=f"smaller R² of the two transitions, {_LINE.text}"),
            Target(">=", 0.95),
        ),
        Figure("{transition}_r2", "ratio", _LINE, "the target is for the smaller of the two"),
        Figure("{transition}_us_each", "µs", _LINE, _TIME),
        Figure("{transition}_us_{queue_pairs}", "µs", _ALL, _TIME),
    ),
)  # fmt: skip
