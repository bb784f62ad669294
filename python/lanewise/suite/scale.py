# SPDX-License-Identifier: BSD-3-Clause
"""Scale any MPI program over numbers of ranks and transports, each repeated to an interval.

Parallel efficiency as in Fig. 11 of the comparison of InfiniPath and XD1
(2006).  Scaled: the work grows with the ranks, T(1) / T(n).
Fixed: it does not, T(1) / (n T(n)).  Where one rank is not among the numbers, the smallest stands
for it.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from lanewise.errors import RequestError, RunError
from lanewise.launch.packages import not_found
from lanewise.launch.program import families_of, libraries_of
from lanewise.launch.run import Outcome
from lanewise.results.intervals import median_interval, ratio_interval
from lanewise.suite.start import HERE, Location, Ranks, run_on
from lanewise.suite.transport import Transport

Work = Literal["scaled", "fixed"]

LDD_LIMIT_S = 10.0

# What programs print about the time of their main loop.
KNOWN_PATTERNS = {"lmp": r"Loop time of ([0-9.eE+-]+)"}
REPETITIONS_MIN = 6
SHOWN_LINES = 6


@dataclass(frozen=True)
class Plan:
    """What is run: `{ranks}` in a word of the command becomes the number of ranks.

    `pattern` finds the time in the output, in seconds, in its first group; empty: the wall.
    """

    command: tuple[str, ...]
    ranks: tuple[int, ...]
    work: Work = "fixed"
    pattern: str = ""
    error: float = 0.05
    repetitions_min: int = REPETITIONS_MIN
    repetitions_max: int = 12
    limit_s: float = 600.0
    location: Location = HERE


@dataclass
class Curve:
    """The times of one transport by number of ranks."""

    transport: str
    times_s: dict[int, list[float]] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Efficiency:
    """Parallel efficiency at a number of ranks, with its interval."""

    ranks: int
    median_s: float
    value: float
    low: float
    high: float


def pattern_for(command: Sequence[str], given: str) -> str:
    """Return the pattern of the time: the one given, else the program's own if it is known."""
    pattern = given or KNOWN_PATTERNS.get(Path(command[0]).name, "")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise RequestError(f"--pattern '{pattern}': {error}; write 'Time: ([0-9.]+)'") from None
    if pattern and groups < 1:
        raise RequestError(f"--pattern '{pattern}' has no group; put the number in brackets")
    return pattern


def mpi_of(program: str) -> str:
    """Return the family of the MPI that a program is linked with; empty where nothing tells."""
    path = shutil.which(program)
    if path is None:
        raise RequestError(not_found(program))
    try:
        libraries = libraries_of(Path(path), os.environ, LDD_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):  # no ldd, or a file system that does not answer
        return ""
    families = families_of(libraries or [])
    return families[0] if len(families) == 1 else ""


def command_for(plan: Plan, ranks: int) -> list[str]:
    """Return the command with the number of ranks in its place."""
    return [word.replace("{ranks}", str(ranks)) for word in plan.command]


class Told:
    """What a pattern finds in the lines of a program, as they come: the last of it counts."""

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(pattern)
        self.text: str | None = None

    def take(self, line: str) -> None:
        """Look at one line."""
        found = self.pattern.search(line)
        if found and self.pattern.groups:
            self.text = found[1] or ""


def time_in(outcome: Outcome, told: Told, wall_s: float) -> float:
    """Return the time that a program told; RunError with its last lines where it told none."""
    pattern = told.pattern.pattern
    if not pattern:
        return wall_s
    if told.text is not None:
        return number_in(told.text, pattern)
    last = deque((line.strip() for line in outcome.output if line.strip()), SHOWN_LINES)
    raise RunError(
        f"no line matches --pattern '{pattern}'; the last lines were: " + " / ".join(last)
    )


def number_in(text: str, pattern: str) -> float:
    """Return the number that a pattern found; RunError where it is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise RunError(f"--pattern '{pattern}' found '{text}', which is not a time in seconds")
    return value


def run_once(plan: Plan, transport: Transport, ranks: int) -> float:
    """Run the program once and return its time; RunError where it fails or tells no time."""
    told = Told(plan.pattern)
    where, command = Ranks(transport, ranks, plan.location), command_for(plan, ranks)
    begun = time.monotonic()
    outcome = run_on(where, command, plan.limit_s, told.take)
    return time_in(outcome, told, time.monotonic() - begun)


def measure(
    plan: Plan, transports: Sequence[Transport], tell: Callable[[str, int, float], None]
) -> list[Curve]:
    """Interleave all runs until each interval is narrow enough; `tell` hears of each time.

    A transport on which the program fails is left out with the reason.
    """
    curves = {transport.name: Curve(transport.name) for transport in transports}
    for _ in range(plan.repetitions_max):
        todo = [
            (transport, ranks)
            for ranks in plan.ranks
            for transport in transports
            if not curves[transport.name].why and not narrow(plan, curves[transport.name], ranks)
        ]
        for transport, ranks in todo:
            curve = curves[transport.name]
            if curve.why:
                continue
            try:
                seconds = run_once(plan, transport, ranks)
            except RunError as error:
                curve.why = str(error)
                continue
            curve.times_s.setdefault(ranks, []).append(seconds)
            tell(transport.name, ranks, seconds)
    return list(curves.values())


def narrow(plan: Plan, curve: Curve, ranks: int) -> bool:
    """Say whether the interval of a median is narrow enough to stop.

    That is asked after the least number of runs and each time that they have doubled: after every
    run, chance would soon make an interval narrow that does not hold the median.
    """
    times = curve.times_s.get(ranks, [])
    look = max(plan.repetitions_min, REPETITIONS_MIN)
    while look < len(times):
        look *= 2
    if len(times) != look:
        return False
    low, high = median_interval(times)
    return (high - low) / 2 <= plan.error * float(np.median(times))


def efficiencies(times_s: Mapping[int, Sequence[float]], work: Work) -> list[Efficiency]:
    """Return the efficiency at each number of ranks, the interval that of a ratio of medians."""
    first = min(times_s)
    base = times_s[first]
    found = []
    for ranks, times in sorted(times_s.items()):
        ideal = 1.0 if work == "scaled" else first / ranks
        median_s = float(np.median(times))
        low, high = (1.0, 1.0) if ranks == first else ratio_interval(times, base)
        value = ideal * float(np.median(base)) / median_s
        found.append(Efficiency(ranks, median_s, value, ideal * low, ideal * high))
    return found
