# SPDX-License-Identifier: BSD-3-Clause
"""What reductions of the same bits cost beside the fastest that a tuning finds.

The program times.c calls MPI_Allreduce, always through the preloaded library: with the tuning that
had the choice among all algorithms, that of the MPI included, and with the same bits, in one order
as tuned among the algorithms that have it, or exactly.  The three take turns, launch by launch, and
each turn begins with another one of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.native import compiled_with_lanewise
from experiments.same_bits.sums import run_program
from experiments.session import run_in_session
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.tuning.read import load

SOURCE = Path(__file__).parent / "times.c"
LEVELS = ("order", "ranks")
LAUNCHES = 10
ROUNDS = 60
SIZES = {"64KiB": 1 << 16, "4MiB": 1 << 22}
# Numbers of ranks, with what the names of their figures have besides.  On two, an exact sum is one
# addition, and on four it is not.
TIMED = {2: "", 4: "_4_ranks"}
TIMEOUT_S = 300.0
BUDGET = "60s"


@dataclass(frozen=True)
class Costs:
    """The ratios of the turns by figure, and the algorithm of each tuning by ranks and size."""

    ratios: Mapping[str, list[float]]
    choices: Mapping[str, str]


def costs(workspace: Workspace) -> Costs:
    """Tune, time and compare on all numbers of ranks."""
    program = workspace.folder.resolve() / "times"
    with failing_as_run():
        compiled_with_lanewise(LOCAL, SOURCE, program)
    ratios: dict[str, list[float]] = {}
    choices = {}
    for ranks in TIMED:
        free = tuned(workspace, "free", ranks)
        ordered = tuned(workspace, "ordered", ranks, "--same-bits", "order")
        for size, size_bytes in SIZES.items():
            choices[f"{size}, {ranks} ranks"] = (
                f"{choice(free, size_bytes)}; in one order {choice(ordered, size_bytes)}"
            )
        sides = {
            "free": ("--tuning", str(free)),
            "order": ("--same-bits", "order", "--tuning", str(ordered)),
            "ranks": ("--same-bits", "ranks"),
        }
        rounds = timed(workspace, program, ranks, sides)
        for level in LEVELS:
            for at, size in enumerate(SIZES):
                ratios[figure(level, size, ranks)] = [
                    one[level][at] / one["free"][at] for one in rounds
                ]
    return Costs(ratios, choices)


def figure(level: str, size: str, ranks: int) -> str:
    """Return the name of a figure: that on two ranks is the oldest, and names no number."""
    return f"{level}_cost_{size}{TIMED[ranks]}"


def tuned(workspace: Workspace, name: str, ranks: int, *options: str) -> Path:
    """Tune allreduce at the sizes that are timed, and return the tuning file."""
    path = workspace.fresh(f"{name}-{ranks}.json")
    workspace.say(f"tuning, {name}, {ranks} ranks")
    words = ["allreduce", "-n", str(ranks), "--budget", BUDGET, "-o", str(path), *options]
    sizes = ",".join(map(str, SIZES.values()))
    line = [sys.executable, "-m", "lanewise", "tune", *words, "--sizes", sizes, "--quiet"]
    done = run_in_session(line, limit_s=TIMEOUT_S)
    if done.status != 0:
        raise RunError("allreduce could not be tuned", done.complaints.splitlines()[-5:])
    return path


def choice(tuning: Path, size_bytes: int) -> str:
    """Return the algorithm that a tuning file names for a size, "default" if it names none."""
    for rule in load(tuning).collectives["allreduce"].rules:
        if rule.from_bytes <= size_bytes <= rule.to_bytes:
            return f"{rule.algorithm}:{rule.segment_bytes}"
    return "default"


def timed(
    workspace: Workspace, program: Path, ranks: int, sides: Mapping[str, tuple[str, ...]]
) -> list[dict[str, list[float]]]:
    """Return, for each turn, the median times of all sides by size, in seconds."""
    words = (str(program), str(ROUNDS), *map(str, SIZES.values()))
    names = list(sides)
    turns = []
    for turn in range(LAUNCHES):
        workspace.say(f"{ranks} ranks, turn {turn + 1} of {LAUNCHES}")
        first = turn % len(names)
        turns.append(
            {
                name: json.loads(run_program(LOCAL, ranks, words, sides[name]))
                for name in names[first:] + names[:first]
            }
        )
    return turns
