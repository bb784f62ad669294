# SPDX-License-Identifier: BSD-3-Clause
"""Interval coverage: how often a 95 % interval contains the true value.

MPIBlib (2008), section 3, repeats until Student's interval of the mean is narrow, assuming normal
errors.  Message times are not normal: a native program draws many measurements from a log-normal
distribution, and from one with 2 % spikes of twenty times the value, runs the stopping rules of
the library on each, and counts how often the interval contains the truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.experiment import (
    Estimator,
    Experiment,
    Figure,
    Outcome,
    Row,
    Target,
    constant,
)
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars

PROGRAM = "lanewise-coverage"
WANTED = 0.93
LAWS = {"lognormal": "log-normal", "spikes": "2 % spikes"}


def run(workspace: Workspace) -> Outcome:
    """Simulate the coverage of both rules under both laws."""
    found = workspace.ask(PROGRAM)
    figures = {key: float(value) for key, value in found.items() if key.startswith("coverage_")}
    missing = [f"coverage_{law}" for law in LAWS if f"coverage_{law}" not in figures]
    if missing:
        raise RunError(f"{PROGRAM} does not say {missing[0]}; is it of this version?")
    return Outcome(
        figures=figures,
        rows=_rows(found),
        conditions={key: value for key, value in found.items() if key not in figures},
        files=_draw(workspace, figures),
    )


def _rows(found: dict[str, Any]) -> list[Row]:
    rows = []
    for law, words in LAWS.items():
        rows.append(Row(f"{words}: median rule covers", "", _share(found, f"coverage_{law}")))
        student = _share(found, f"coverage_{law}_student")
        rows.append(Row(f"{words}: Student's rule covers", "95 % supposed", student))
        rows.append(Row(f"{words}: repetitions of either rule", "", _repetitions(found, law)))
    return rows


def _repetitions(found: dict[str, Any], law: str) -> str:
    means = (found.get(f"repetitions_mean_{law}{rule}") for rule in ("", "_student"))
    return ", ".join(f"{float(mean):.0f}" for mean in means if mean is not None)


def _share(found: dict[str, Any], key: str) -> str:
    return percent_of(float(found[key])) if key in found else "not simulated"


def percent_of(share: float) -> str:
    """Return a coverage with one decimal, so that 94.6 % does not appear as 95 %."""
    return f"{100 * share:.1f} %"


def _draw(workspace: Workspace, figures: dict[str, float]) -> list[Path]:
    panels = []
    for law, words in LAWS.items():
        bars = [Bar("median rule", figures[f"coverage_{law}"], "here")]
        if f"coverage_{law}_student" in figures:
            bars.append(Bar("Student's rule", figures[f"coverage_{law}_student"], "paper's rule"))
        panels.append((f"{words.capitalize()}", bars))
    figure = draw_bars(panels, percent_of, target=WANTED)
    return workspace.save(figure, "interval-coverage")


_SHARE = Estimator(
    "share of intervals that contain the true value",
    1, constant(Path(__file__).with_name("coverage.cpp"), "trials"), "simulated measurements",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="interval-coverage",
    paper="000 §3",
    summary="how often the 95 % interval holds the true value, and the paper's rule beside it",
    run=run,
    figures=(
        *(Figure(f"coverage_{law}", "ratio", _SHARE, Target(">=", WANTED)) for law in LAWS),
        Figure(
            "coverage_{law}_student", "ratio", _SHARE,
            "it is the rule of the paper, shown for comparison",
        ),
    ),
)  # fmt: skip
