# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved runs of one program, plain and tuned, and the ratio of their times.

The order changes every round, so that a machine that drifts favours neither.  Times are wall-clock
times of the whole launch, because that is what its user waits for.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from lanewise import __version__
from lanewise.errors import RunError
from lanewise.files.schemas import object_in, require
from lanewise.files.whole import write_whole
from lanewise.launch.foreground import Foreground, repeated_stdin
from lanewise.results.intervals import REPETITIONS_MIN, ratio_interval

SCHEMA = "lanewise-interleaved"
SCHEMA_BEFORE = "lanewise-turns"
VERSION = 1
AGAIN = "measure again with --interleaved"
PLAIN, TUNED = "plain", "tuned"

Clock = Callable[[], float]


@dataclass(frozen=True)
class Interleaved:
    """A launch line, the tuning file it was tuned by, and the seconds of each run, in order."""

    line: str
    tuning: str
    plain_s: list[float]
    tuned_s: list[float]

    def ratio(self) -> float:
        """Return the median time tuned over the median time plain."""
        return statistics.median(self.tuned_s) / statistics.median(self.plain_s)

    def interval(self) -> tuple[float, float] | None:
        """Return the interval of the ratio; None where there were too few rounds for one."""
        if min(len(self.plain_s), len(self.tuned_s)) < REPETITIONS_MIN:
            return None
        return ratio_interval(self.plain_s, self.tuned_s)

    def text(self) -> str:
        """Return the outcome as a line: "plain 2.10 s, tuned 1.80 s, tuned/plain 0.86 (...)"."""
        plain_s, tuned_s = statistics.median(self.plain_s), statistics.median(self.tuned_s)
        interval = self.interval()
        bounds = (
            f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else "too few for an interval"
        )
        return (
            f"plain {plain_s:.3g} s, tuned {tuned_s:.3g} s, "
            f"tuned/plain {self.ratio():.3f} ({bounds}), {len(self.plain_s)} rounds"
        )


def run_interleaved(
    commands: Mapping[str, Sequence[str]],
    rounds: int,
    environment: Mapping[str, str],
    clock: Clock = time.monotonic,
) -> dict[str, list[float]]:
    """Run each of `commands` once per round, in changing order; return the seconds of each.

    Each gets the same standard input; output is shown in the first round only.  A signal is passed
    on, and no run follows.  Raises RunError where a run fails or gets a signal, KeyboardInterrupt
    where that is to end all.
    """
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with repeated_stdin() as stdin, Foreground() as foreground:
        for number in range(rounds):
            order = list(commands)[:: 1 if number % 2 == 0 else -1]
            for name in order:
                shown = None if number == 0 else subprocess.DEVNULL
                foreground.require_undisturbed(f"the {name} run")
                begin_s = clock()
                status = foreground.run(commands[name], environment, stdin(), shown)
                seconds[name].append(clock() - begin_s)
                foreground.require_undisturbed(f"the {name} run")
                if status != 0:
                    raise RunError(f"the {name} run ended with status {status}; see above")
    return seconds


def write(runs: Interleaved, path: Path) -> None:
    """Write the file, whole or not at all; RunError where it cannot be written."""
    write_whole(path, json.dumps(as_object(runs), indent=1) + "\n")


def as_object(runs: Interleaved) -> dict[str, object]:
    """Return what the file holds."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "lanewise": __version__,
        "created": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **asdict(runs),
    }


def load(path: Path) -> Interleaved:
    """Read the file; RequestError naming the key that is unknown, missing or of another kind."""
    values = object_in(path, missing=AGAIN, damaged=AGAIN)
    if values.get("schema") == SCHEMA_BEFORE:
        values["schema"] = SCHEMA
    require(values, "interleaved", str(path), remedy=AGAIN)
    return Interleaved(values["line"], values["tuning"], values["plain_s"], values["tuned_s"])
