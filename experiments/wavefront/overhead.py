# SPDX-License-Identifier: BSD-3-Clause
"""Wavefront overhead: the cost of doubled corners on the disk.

Out-of-core wavefront (2008), Table 1.  The frontier layout stores the four corners of a block
twice: 4 T^2 elements per block.  The numbers come from the layout's own arithmetic, the one that
places every element of a matrix of 16384 x 16384 doubles.
"""

from __future__ import annotations

import json

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.wavefront import sweeps
from experiments.workspace import Workspace
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import size_text

SIDE = 16384
PAPER_BYTES = {4096: 512, 512: 32 << 10, 64: 2 << 20, 8: 128 << 20}
MATRIX_BYTES = SIDE * SIDE * 8


def run(workspace: Workspace) -> Outcome:
    """Ask the layout how many bytes each block size adds."""
    line = [sweeps.native("lanewise-wavefront-layouts"), "overhead", str(SIDE)]
    found = json.loads(sweeps.call([*line, *map(str, PAPER_BYTES)]))
    here = {block: int(found[str(block)]) for block in PAPER_BYTES}
    figures = {f"overhead_bytes_{block}": float(extra) for block, extra in here.items()}
    figures["equal_to_paper"] = float(here == PAPER_BYTES)
    bars = [Bar(f"{block} x {block}", float(extra)) for block, extra in here.items()]
    return Outcome(
        figures=figures,
        rows=[
            Row(f"blocks of {block} x {block}", _text(paper), _text(here[block]))
            for block, paper in PAPER_BYTES.items()
        ],
        conditions={"rows": SIDE, "columns": SIDE, "radius": 1},
        files=workspace.save(
            draw_bars([("Bytes added by the frontier layout", bars)], size_text, scale="log"),
            "wavefront-overhead",
        ),
    )


def _text(extra_bytes: int) -> str:
    return f"{size_text(extra_bytes)}, {100 * extra_bytes / MATRIX_BYTES:.3g} %"


_EXACT = Estimator("arithmetic of the layout", 1, 1, "computation")

EXPERIMENT = Experiment(
    name="wavefront-overhead",
    paper="002 Table 1",
    summary="the space that the frontier layout adds for blocks of 8 to 4096",
    run=run,
    figures=(
        Figure("equal_to_paper", "0 or 1", _EXACT, Target(">=", 1.0)),
        Figure("overhead_bytes_{block}", "bytes", _EXACT, "equal_to_paper holds it to the paper"),
    ),
)
