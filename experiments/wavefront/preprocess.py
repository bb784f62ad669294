# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront preprocess: rewriting a matrix in another layout and back.

Out-of-core wavefront (2008), Figure 4.  The paper's optimized layout was costly to make, because
vertical frontiers were read from a row-major file element by element.  Here a whole row of blocks
is read, rearranged in memory and written while the next one is read, so that each layout costs
little more than a copy by the same means.  Stores are converted in the same rounds, with the
checksums of all strips on either side.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.experiment import (
    Estimator,
    Experiment,
    Figure,
    Outcome,
    Row,
    Target,
    constant,
)
from experiments.wavefront import sweeps
from experiments.wavefront.capped import NOTES
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import three_digits, time_text

SIDE = 8192
BLOCK = 512
LAYOUTS = (
    "block", "frontier", "store-row-major", "store-skewed", "store-block", "store-frontier",
)  # fmt: skip
WAYS = ("preprocess", "postprocess")


def run(workspace: Workspace) -> Outcome:
    """Convert a matrix to both layouts and back, beside copies."""
    workspace.say(f"a matrix of {SIDE} x {SIDE} in blocks of {BLOCK}, five rounds")
    line = [sweeps.native("lanewise-wavefront-layouts"), "convert", str(workspace.folder)]
    found = json.loads(sweeps.call([*line, str(SIDE), str(BLOCK)]))
    figures = {
        figure_of(layout, way): found[f"{layout}_{way}_over_copy"]
        for layout in LAYOUTS
        for way in WAYS
    }
    figures["bits_equal"] = float(found["bits_equal"])
    panels = [
        (way.capitalize(), [Bar(name, found[f"{name}_{way}_s"], name) for name in bars()])
        for way in WAYS
    ]
    return Outcome(
        figures=figures,
        rows=[
            *(Row(f"{name}, {way}", "", time_text(found[f"{name}_{way}_s"]))
              for way in WAYS for name in bars()),
            *(Row(f"speed of {key.replace('_over_copy', '').replace('_', ', ')} over copy", "",
                  three_digits(value)) for key, value in figures.items() if key != "bits_equal"),
        ],
        conditions={"rows": SIDE, "columns": SIDE, "block": BLOCK, "memory_bytes": "not capped"},
        files=workspace.save(draw_bars(panels, time_text), "wavefront-preprocess"),
        notes=[f"{NOTES['memory']}, for conversions and copies alike"],
    )  # fmt: skip


def figure_of(layout: str, way: str) -> str:
    """Return the name of the figure that compares a layout with a copy."""
    return f"{layout.replace('-', '_')}_{way}_over_copy"


def bars() -> tuple[str, ...]:
    """Return what is timed, the yardstick first."""
    return ("copy", *LAYOUTS)


_ROUNDS = constant(Path(__file__).with_name("layouts.cpp"), "rounds")
_SPEED = Estimator(
    "median over rounds of the speed of a conversion over that of a copy", 1, _ROUNDS, "rounds"
)

EXPERIMENT = Experiment(
    name="wavefront-preprocess",
    paper="002 Fig. 4",
    summary="rewriting a matrix in block and frontier layout and back, against a copy",
    run=run,
    figures=(
        *(
            Figure(figure_of(layout, way), "ratio", _SPEED, Target(">=", 0.8))
            for layout in LAYOUTS
            for way in WAYS
        ),
        Figure(
            "bits_equal", "0 or 1",
            Estimator("whether every conversion can be undone", 1, _ROUNDS, "rounds"),
            Target(">=", 1.0),
        ),
    ),
)  # fmt: skip
