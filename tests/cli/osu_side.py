# SPDX-License-Identifier: BSD-3-Clause
"""A side of a gate that needs no MPI: a program that prints what osu_bcast prints."""

from __future__ import annotations

import sys
from pathlib import Path

# Its own time is the first argument, and another level each launch.
OSU = """\
import random, sys
slower = float(sys.argv[1]) * random.lognormvariate(0, 0.01)
print("# OSU MPI Broadcast Latency Test v7.4\\n# Size       Avg Latency(us)")
print(f"8 {10 * slower:20.2f}\\n1024 {20 * slower:20.2f}")
"""


def side(folder: Path, factor: float) -> list[str]:
    """Return a command whose times are those of 1.0 times `factor`; `folder` gets the program."""
    program = folder / "osu.py"
    program.write_text(OSU, encoding="utf-8")
    return [sys.executable, str(program), str(factor)]
