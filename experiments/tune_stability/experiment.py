# SPDX-License-Identifier: BSD-3-Clause
"""Tune stability: whether the rules of one tuning are those of the next, and hold afterwards.

Ten tunings of the same collectives on the same two ranks give ten tuning files.  A rule at a
measured size recurs in another tuning if that one has a rule there as well.  Afterwards everything
that any of them ruled runs against the MPI's default in fresh launches, which neither chose nor
judged it.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.session import run_in_session
from experiments.workspace import LOCAL, Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text
from lanewise.tuning.content import Choice, Tuning
from lanewise.tuning.decide import gains
from lanewise.tuning.evidence import read_evidence
from lanewise.tuning.judge import JudgedLaunch, launches_of
from lanewise.tuning.read import load

RANKS = 2
TUNINGS = 10
FRESH_LAUNCHES = 5
BUDGET_S = 38
FRESH_BUDGET_S = 10
COLLECTIVES = ("bcast", "scatter", "gather", "allreduce")
SIZES = "8,1K,16K,64K"

Size = tuple[str, int]
Ruled = Mapping[Size, Choice]


def run(workspace: Workspace) -> Outcome:
    """Tune ten times, then run what was ruled in launches that nobody chose."""
    tunings = [tuned(workspace, number) for number in range(1, TUNINGS + 1)]
    ruled = [ruled_by(one) for one in tunings]
    launches = fresh(workspace, ruled, tunings)
    figures = {
        "recurring_percent": recurring_percent(ruled),
        "same_algorithm_percent": same_algorithm_percent(ruled),
        "slower_in_fresh_launch_percent": slower_percent(ruled, launches),
        "rules": float(statistics.median(len(one) for one in ruled)),
    }
    points = len(COLLECTIVES) * len(SIZES.split(","))
    return Outcome(
        figures=figures,
        rows=_rows(ruled, launches, points),
        conditions={
            "ranks": RANKS,
            "collectives": list(COLLECTIVES),
            "sizes": SIZES,
            "budget_s": BUDGET_S,
            "ruled": [
                {f"{name} {size}": choice.algorithm for (name, size), choice in one.items()}
                for one in ruled
            ],
        },
        files=_draw(workspace, ruled),
        launches={
            "recurring_percent": [recurring_with_others(ruled, i) for i in range(len(ruled))],
            "rules": [float(len(one)) for one in ruled],
            "slower_in_fresh_launch_percent": [
                slower_percent(ruled, {size: [all_[i]] for size, all_ in launches.items()})
                for i in range(FRESH_LAUNCHES)
            ],
        },
    )


def tuned(workspace: Workspace, number: int) -> Tuning:
    """Tune once and return what came of it."""
    path = workspace.fresh(f"tuning-{number}.json")
    words = ["tune", *COLLECTIVES, "-n", str(RANKS), "--sizes", SIZES, "--launcher", LOCAL,
             "--budget", f"{BUDGET_S}s", "--seed", str(number), "-o", str(path)]  # fmt: skip
    workspace.say(f"tuning {number} of {TUNINGS}")
    done = run_in_session([sys.executable, "-m", "lanewise", *words, "--quiet"])
    if done.status != 0:
        raise RunError(f"lanewise tune ended with status {done.status}: {done.complaints}")
    return load(path)


def ruled_by(tuning: Tuning) -> dict[Size, Choice]:
    """Return the sizes that were measured and have a rule of Lanewise's, with its choice."""
    return {
        (name, point.message_bytes): Choice(
            "lanewise", rule.algorithm, rule.segment_bytes, rule.lanes
        )
        for name, content in tuning.collectives.items()
        for point in content.points
        for rule in content.rules
        if rule.from_bytes <= point.message_bytes <= rule.to_bytes
        and gains(point, "lanewise", tuning.margin)
    }


def recurring_percent(ruled: Sequence[Ruled]) -> float:
    """Return how many of the rules another tuning has as well, over all pairs of tunings."""
    counts = Counter(size for one in ruled for size in one)
    rules = sum(counts.values())
    pairs = sum(count * (count - 1) for count in counts.values())
    return 100 * pairs / (rules * (len(ruled) - 1)) if rules else math.nan


def recurring_with_others(ruled: Sequence[Ruled], number: int) -> float:
    """Return how many of the rules of one tuning the others have, on average."""
    others = [one for i, one in enumerate(ruled) if i != number]
    if not ruled[number]:
        return math.nan
    found = sum(size in one for size in ruled[number] for one in others)
    return 100 * found / (len(ruled[number]) * len(others))


def same_algorithm_percent(ruled: Sequence[Ruled]) -> float:
    """Return how many of the rules that recur name the same algorithm."""
    pairs = [
        one[size].algorithm == other[size].algorithm
        for i, one in enumerate(ruled)
        for other in ruled[:i]
        for size in one.keys() & other.keys()
    ]
    return 100 * sum(pairs) / len(pairs) if pairs else math.nan


def fresh(
    workspace: Workspace, ruled: Sequence[Ruled], tunings: Sequence[Tuning]
) -> dict[Size, list[JudgedLaunch]]:
    """Run everything that was ruled against the default, in launches of its own."""
    choices: dict[Size, set[Choice]] = {}
    for one in ruled:
        for size, choice in one.items():
            choices.setdefault(size, set()).add(choice)
    default_s = {
        (name, point.message_bytes): point.default.median_s
        for tuning in tunings
        for name, content in tuning.collectives.items()
        for point in content.points
    }
    points = [
        {
            "collective": name, "message_bytes": size, "default_s": default_s[name, size],
            "candidates": [asdict(each) for each in sorted(choices[name, size], key=str)],
        }
        for name, size in sorted(choices)
    ]  # fmt: skip
    if not points:
        return {}
    finalists, evidence = (workspace.fresh(name) for name in ("fresh.json", "fresh.jsonl"))
    finalists.write_text(json.dumps({"stage": "judgement", "points": points}), encoding="utf-8")
    for launch in range(1, FRESH_LAUNCHES + 1):
        words = [*COLLECTIVES, f"--sizes={SIZES}", f"--finalists={finalists}",
                 f"--launch={launch}", f"--budget={FRESH_BUDGET_S}s", "-o", str(evidence),
                 *(["--resume"] if launch > 1 else [])]  # fmt: skip
        workspace.launch("lanewise-tune", RANKS, words, LOCAL)
    return launches_of(read_evidence(evidence)[1])


def ratios_of(
    ruled: Sequence[Ruled], launches: Mapping[Size, Sequence[JudgedLaunch]]
) -> list[float]:
    """Return the time over the default's of each rule of each tuning in each fresh launch."""
    return [
        launch.times_s[choice] / launch.default_s
        for one in ruled
        for size, choice in one.items()
        for launch in launches.get(size, ())
        if choice in launch.times_s
    ]


def slower_percent(
    ruled: Sequence[Ruled], launches: Mapping[Size, Sequence[JudgedLaunch]]
) -> float:
    """Return in how many cases a rule is slower than the default in a fresh launch."""
    ratios = ratios_of(ruled, launches)
    return 100 * sum(ratio > 1 for ratio in ratios) / len(ratios) if ratios else math.nan


def _rows(
    ruled: Sequence[Ruled], launches: Mapping[Size, Sequence[JudgedLaunch]], points: int
) -> list[Row]:
    counts = Counter(size for one in ruled for size in one)
    rows = [
        Row(f"{name} of {size_text(size)}: tunings with a rule", "", f"{count} of {len(ruled)}")
        for (name, size), count in sorted(counts.items())
    ]
    found = sorted(len(one) for one in ruled)
    rows.append(Row(f"rules of a tuning, of {points} sizes", "", f"{found[0]} to {found[-1]}"))
    ratios = sorted(ratios_of(ruled, launches))
    if ratios:
        rows.append(
            Row("time over the default's, fresh launches", "",
                f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        )  # fmt: skip
    return rows


def _draw(workspace: Workspace, ruled: Sequence[Ruled]) -> list[Path]:
    counts = Counter(size for one in ruled for size in one)
    panels = [
        (name, [Bar(size_text(size), float(count), "ours")
                for (each, size), count in sorted(counts.items()) if each == name])
        for name in COLLECTIVES
    ]  # fmt: skip
    drawn = [(name, bars) for name, bars in panels if bars]
    if not drawn:
        return []
    return workspace.save(draw_bars(drawn, "{:.0f} tunings".format), "tune-stability")


_OF = f"tunings of {len(COLLECTIVES)} collectives at {len(SIZES.split(','))} sizes"
_RECURRING = Estimator(
    "rules at measured sizes that another tuning has as well, over all pairs of tunings",
    TUNINGS, 1, _OF,
)  # fmt: skip
_SLOWER = Estimator(
    "cases of a rule and a fresh launch in which the rule is slower than the default",
    FRESH_LAUNCHES, 200, "repetitions at most",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="tune-stability",
    paper="000 §4, beyond",
    summary="whether rules recur in other tunings and hold in fresh launches",
    run=run,
    figures=(
        Figure("recurring_percent", "%", _RECURRING, Target(">=", 95.0)),
        Figure(
            "same_algorithm_percent", "%", _RECURRING,
            "algorithms that are equally fast may take turns without any harm",
        ),
        Figure("slower_in_fresh_launch_percent", "%", _SLOWER, Target("<=", 1.0)),
        Figure(
            "rules", "rules", _RECURRING, "what can be gained is up to the MPI's own choices"
        ),
    ),
)  # fmt: skip
