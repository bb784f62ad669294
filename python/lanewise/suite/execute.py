# SPDX-License-Identifier: BSD-3-Clause
"""Execute a suite: launch after launch, each into a file of its own, until all or the time is up.

What fails is written down with its reason and the next launch is made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import LanewiseError
from lanewise.launch.run import Event
from lanewise.suite import application, start, state
from lanewise.suite.benchmarks import APPLICATION, Effort, Group
from lanewise.suite.plan import Launch, point_count, point_limit_s, size_count
from lanewise.suite.state import SAMPLES
from lanewise.suite.transport import Transport

# A launch that takes this many times its share hangs; one that is quick by nature gets the least.
# It is short, since a launch that hangs takes its time from all that follow.
LIMIT_FACTOR = 6.0
LIMIT_MIN_S = 25.0
REPETITIONS = "5:400"
ERROR = "0.03"


@dataclass(frozen=True)
class Step:
    """Where the suite is: told before each launch."""

    number: int
    total: int
    launch: Launch
    left_s: float


Tell = Callable[[Step], None]


@dataclass
class Suite:
    """One suite: what was asked for, where it goes, and on what it runs."""

    folder: Path
    state: state.State
    transports: Mapping[str, Transport]
    groups: Sequence[Group]
    effort: Effort
    budget_s: float
    location: start.Location = start.HERE

    def sample_file(self, launch: Launch) -> Path:
        """Return where the samples of a launch go."""
        return self.folder / SAMPLES / f"{launch.name}.jsonl"


def execute(
    suite: Suite, order: Sequence[Launch], tell: Tell, on_event: Callable[[Event], None]
) -> None:
    """Make the launches that are not made yet, one at least; save the state after each."""
    (suite.folder / SAMPLES).mkdir(parents=True, exist_ok=True)
    suite.state.left_out.clear()
    begun = time.monotonic()
    before_s = suite.state.elapsed_s
    todo = [launch for launch in order if suite.state.launches.get(launch.name) != ""]
    for number, launch in enumerate(todo, start=1):
        spent_s = time.monotonic() - begun
        rest = todo[number - 1 :]
        if number > 1 and spent_s > suite.budget_s:
            suite.state.left_out = [one.name for one in rest]
            break
        point_s = point_s_of(suite, rest, suite.budget_s - spent_s)
        tell(Step(number, len(todo), launch, suite.budget_s - spent_s))
        suite.state.launches[launch.name] = made(suite, launch, point_s, on_event)
        suite.state.elapsed_s = before_s + time.monotonic() - begun
        state.save(suite.state, suite.folder)
    state.save(suite.state, suite.folder)


def point_s_of(suite: Suite, rest: Sequence[Launch], left_s: float) -> float:
    """Return the time for each point, so that what is left fits into the time that is left."""
    groups = {group.name: group for group in suite.groups}
    points = sum(
        point_count(
            groups[one.group],
            len(benchmarks_of(suite, groups[one.group], one.transport)),
            suite.effort,
        )
        for one in rest
    )
    starts_s = sum(
        suite.state.transports[one.transport].took_s + groups[one.group].takes_s for one in rest
    )
    return point_limit_s(left_s, starts_s, points)


def benchmarks_of(suite: Suite, group: Group, transport: str) -> tuple[str, ...]:
    """Return the benchmarks of a group that the MPI of a transport has."""
    lacks = suite.state.transports[transport].lacks
    return tuple(name for name in group.benchmarks if name not in lacks)


def made(suite: Suite, launch: Launch, point_s: float, on_event: Callable[[Event], None]) -> str:
    """Make one launch; return why it failed, empty where it did not."""
    group = next(group for group in suite.groups if group.name == launch.group)
    benchmarks = benchmarks_of(suite, group, launch.transport)
    if not benchmarks:
        return ""
    transport, asked = suite.transports[launch.transport], suite.state.asked
    sizes = group.sizes_for(suite.effort)
    limit_s = max(LIMIT_MIN_S, LIMIT_FACTOR * point_s * len(benchmarks) * size_count(sizes))
    ranks = start.Ranks(transport, asked.ranks, suite.location)
    try:
        if group.name == APPLICATION:
            application.run(ranks, suite.folder / SAMPLES / f"{launch.name}.json")
            return ""
        path = suite.sample_file(launch)
        path.unlink(missing_ok=True)
        line: list[str | Path] = [*benchmarks, "--sizes", sizes]
        line += group.options or [
            "--repetitions", REPETITIONS, "--error", ERROR, "--time-limit", f"{point_s:.4f}",
            "--window", str(asked.window),
        ]  # fmt: skip
        line += ["--seed", str(asked.seed + launch.round), "--ranks", str(asked.ranks)]
        line += ["--launcher", transport.launcher, "--transport", launch.transport]
        line += ["--events", "-o", path]
        line += ["--validate"] if asked.validate else []
        line += [f"--buffers={asked.buffers}"] if asked.buffers else []
        start.measure_on(ranks, line, limit_s, on_event)
    except LanewiseError as error:
        return str(error)
    return ""
