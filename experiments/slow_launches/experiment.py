# SPDX-License-Identifier: BSD-3-Clause
"""Slow launches: why a launch is slower than its like for as long as it runs.

The experiments schedule-cost and opt-scatter compare equal algorithms in several launches, since
now and then a launch is slower than the others.  Here many short launches of the same scatters are
made in random order: as they are; with the addresses of all memory fixed; with fixed addresses and
a stack that begins elsewhere each time; with huge pages for the heap and for the shared memory; and
with ranks that are not bound to a processor.

Before and after each launch two threads pass a cache line to each other, which says how far apart
the two processors are.  A virtual machine does not know, and its host may move them.  Of each rank
the addresses of its files, stack and heap, and the physical frames of its heap and of the shared
memory, are recorded where they can be read.  A bit of them explains times if its rank correlation
with the time is larger than the largest of all bits in 95 % of random orders of the launches.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row
from experiments.native import compiled
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch import machine
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.job import Job
from lanewise.launch.run_native import Conditions, require_success, run_native
from lanewise.plots import Strip, draw_strips
from lanewise.results.quantity import three_digits, time_text, time_tick

RANKS = 2
LAUNCHES = 40
ROUNDS = 24
SIZES = (8, 1024, 16384)
PROGRAM = "lanewise-opt-scatter"
# Processors are apart if a cache line takes so many times the shortest trip.
APART = 3.0
SLOWER = 1.3
# As opt-scatter has it.
TOLERANCE = 0.03
STACK_STEPS, STACK_STEP_BYTES = 256, 16
ORDERS = 500
SEED = 20
HERE = Path(__file__).parent
FIXED = ("setarch", "-R")
_BITS = {"address": range(12, 22), "stack": range(4, 12), "frame": range(5)}

Bits = dict[str, list[float]]


@dataclass(frozen=True)
class Way:
    """How ranks are launched: words before the launcher and after it, and their variables."""

    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """What a launch gave: seconds by size, round and candidate, and where its memory was."""

    way: str
    trips_ns: tuple[float, float]
    times_s: list[NDArray[np.float64]]
    layout: list[dict[str, Any]]

    def time_s(self, place: int = 0) -> float:
        """Return the median over rounds of the mean of the candidates."""
        return float(np.median(self.times_s[place].mean(axis=1)))

    def shares(self, place: int, part: int | None = None) -> NDArray[np.float64]:
        """Return each candidate's median time over the mean, of all rounds or of one half."""
        times = self.times_s[place]
        shares = times / times.mean(axis=1, keepdims=True)
        middle = len(shares) // 2
        rows = shares if part is None else (shares[:middle], shares[middle:])[part]
        return np.asarray(np.median(rows, axis=0))


def run(workspace: Workspace) -> Outcome:
    """Launch in random order, measuring how far apart the processors are around each launch."""
    with failing_as_run():
        choice = choose(LOCAL, os.environ)
        require_launcher(choice)
    folder = workspace.folder.resolve()
    bounce = compiled("cc", HERE / "bounce.c", folder / "bounce", "-O2", "-pthread")
    compiler = "mpicc.openmpi" if shutil.which("mpicc.openmpi") else "mpicc"
    library = compiled(
        compiler, HERE / "layout.c", folder / "liblayout.so", "-O2", "-shared", "-fPIC"
    )
    source = random.Random(SEED)
    found: list[Launch] = []
    with huge_pages(folder / "huge") as huge:
        ways = ways_here(huge)
        order = [name for name in ways for _ in range(LAUNCHES)]
        source.shuffle(order)
        for number, name in enumerate(order, start=1):
            if number % LAUNCHES == 1:
                workspace.say(f"launch {number} of {len(order)}")
            way = shifted(ways[name], source) if name == "shifted" else ways[name]
            before_ns = trip_ns(bounce)
            times_s, layout = launched(workspace, choice, way, library)
            found.append(Launch(name, (before_ns, trip_ns(bounce)), times_s, layout))
    return outcome(workspace, found, list(ways))


@contextmanager
def huge_pages(folder: Path) -> Iterator[Path | None]:
    """Give a folder whose files have huge pages; None where root is needed to make one."""
    folder.mkdir(exist_ok=True)
    line = ["mount", "-t", "tmpfs", "-o", "huge=always,size=256m", "lanewise", str(folder)]
    mounted = subprocess.run(line, capture_output=True, check=False).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=False)


def ways_here(huge: Path | None) -> dict[str, Way]:
    """Return the ways to launch that this machine allows."""
    ways = {"plain": Way(), "unbound": Way(options=("--bind-to", "none"))}
    if subprocess.run([*FIXED, "true"], capture_output=True, check=False).returncode == 0:
        ways["fixed"] = ways["shifted"] = Way(before=FIXED)
    if huge is not None:
        options = ("--mca", "btl_vader_backing_directory", str(huge))
        ways["huge"] = Way((), options, {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
    return ways


def shifted(way: Way, source: random.Random) -> Way:
    """Return a way whose environment, which lies above the stack, has a random length."""
    padding = "x" * (STACK_STEP_BYTES * source.randrange(STACK_STEPS))
    return Way(way.before, way.options, {"LANEWISE_PADDING": padding})


def trip_ns(bounce: Path) -> float:
    """Return the round trip of a cache line between two processors."""
    done = subprocess.run([str(bounce)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError("two threads could not be bound to two processors")
    return float(done.stdout)


def launched(
    workspace: Workspace, choice: Choice, way: Way, library: Path
) -> tuple[list[NDArray[np.float64]], list[dict[str, Any]]]:
    """Launch once; return the times by size, and the layout of each rank."""
    path = workspace.fresh("layout.jsonl")
    variables = {"LD_PRELOAD": str(library), "LANEWISE_LAYOUT": str(path), **way.variables}
    program = (str(choice.build.program(PROGRAM)), str(ROUNDS), *map(str, SIZES))
    job = Job(
        program=program, ranks=RANKS, executable=choice.executable, mpi=choice.build.mpi,
        slots=machine.core_count(), cores=machine.core_count(), user_id=os.getuid(),
        launcher_arguments=way.options,
    )  # fmt: skip
    conditions = Conditions(variables, enter=lambda line: [*way.before, *line], tail_lines=None)
    ended = run_native(choice, job, conditions=conditions)
    with failing_as_run():
        require_success(choice, ended)
    printed = next((line for line in ended.output if line.startswith("{")), None)
    if printed is None or not path.is_file():
        raise RunError(f"{PROGRAM} printed no times or left no layout")
    answer = json.loads(printed)
    count = len(answer["candidates"])
    times_s = [np.array(point["rows_s"])[:, :count] for point in answer["points"]]
    lines = path.read_text(encoding="utf-8").splitlines()
    return times_s, [json.loads(line) for line in lines]


def outcome(workspace: Workspace, found: list[Launch], ways: Sequence[str]) -> Outcome:
    """Return figures, rows and plots."""
    limit_ns = APART * min(trip for launch in found for trip in launch.trips_ns)
    groups: dict[str, list[Launch]] = {"together": [], "apart": [], "moved": []}
    for launch in found:
        groups[group_of(launch, limit_ns)].append(launch)
    if not groups["together"]:
        raise RunError("the processors were never as close as once; is the machine busy?")
    figures = {
        **figures_of_distance(groups, len(found)),
        **figures_of_ways(groups["together"], ways),
        **figures_of_layout(groups["together"]),
    }
    strips = [Strip(name, [each.time_s() for each in group]) for name, group in groups.items()]
    title = f"Scatter of {SIZES[0]} B, by processors, each launch"
    place = len(SIZES) - 1
    by_way = [
        Strip(way, [each.time_s(place) for each in groups["together"] if each.way == way])
        for way in ways
    ]
    title_ways = f"Scatter of {SIZES[place]} B, each launch together"
    return Outcome(
        figures=figures,
        rows=[Row(key.replace("_", " "), "", three_digits(each)) for key, each in figures.items()],
        conditions={
            "ranks": RANKS, "launches_each": LAUNCHES, "rounds": ROUNDS, "sizes": SIZES,
            "ways": list(ways), "together": len(groups["together"]),
            "each": [
                {"way": each.way, "trips_ns": each.trips_ns,
                 "times_s": [float(f"{each.time_s(n):.4g}") for n in range(len(SIZES))]}
                for each in found
            ],
        },
        files=[
            *workspace.save(draw_strips(title, strips, time_tick), "slow-launches"),
            *workspace.save(draw_strips(title_ways, by_way, time_tick), "slow-launches-ways"),
        ],
        notes=[f"together: {time_text(median_s(groups['together']))} for {SIZES[0]} B"],
    )  # fmt: skip


def group_of(launch: Launch, limit_ns: float) -> str:
    """Say whether the processors were together or apart around a launch, or moved meanwhile."""
    apart = [trip > limit_ns for trip in launch.trips_ns]
    if all(apart):
        return "apart"
    return "moved" if any(apart) else "together"


def median_s(launches: Sequence[Launch]) -> float:
    """Return the median time of the smallest message."""
    return statistics.median(launch.time_s() for launch in launches)


def figures_of_distance(groups: Mapping[str, list[Launch]], count: int) -> dict[str, float]:
    """Return how often processors are apart, what that costs, and what of slow launches it is."""
    usual_s = median_s(groups["together"])
    slow = {
        name: sum(launch.time_s() > SLOWER * usual_s for launch in group)
        for name, group in groups.items()
    }
    figures = {
        "apart_percent": 100 * len(groups["apart"]) / count,
        "moved_percent": 100 * len(groups["moved"]) / count,
        "slow_percent": 100 * sum(slow.values()) / count,
        "slow_together_percent": 100 * slow["together"] / len(groups["together"]),
    }
    figures |= {
        f"trip_{name}_ns": statistics.median(trip for each in group for trip in each.trips_ns)
        for name, group in groups.items()
        if group and name != "moved"
    }
    if groups["apart"]:
        figures["apart_over_together"] = median_s(groups["apart"]) / usual_s
        figures["slow_apart_percent"] = 100 * slow["apart"] / len(groups["apart"])
    return figures


def figures_of_ways(together: Sequence[Launch], ways: Sequence[str]) -> dict[str, float]:
    """Return for each way how often a candidate is off its usual share, and how times spread."""
    figures: dict[str, float] = {}
    places = range(len(SIZES))
    usual = [np.median([launch.shares(n) for launch in together], axis=0) for n in places]
    for way in ways:
        launches = [launch for launch in together if launch.way == way]
        if not launches:
            continue
        off = sum(any(is_off(launch, n, usual[n]) for n in places) for launch in launches)
        figures[f"off_percent_{way}"] = 100 * off / len(launches)
        for place in places:
            low, high = np.percentile([launch.time_s(place) for launch in launches], [10, 90])
            figures[f"spread_percent_{way}_{SIZES[place]}_bytes"] = 100 * float(high / low - 1)
    return figures


def is_off(launch: Launch, place: int, usual: NDArray[np.float64]) -> bool:
    """Say whether a candidate takes more of the time than usual in both halves of a launch."""
    halves = [launch.shares(place, part) / usual for part in (0, 1)]
    return bool((np.minimum(*halves) > 1 + TOLERANCE).any())


def figures_of_layout(together: Sequence[Launch]) -> dict[str, float]:
    """Return the largest rank correlation of times with a bit of the layout, and that of chance."""
    times = {f"{size}_bytes": [each.time_s(n) for each in together] for n, size in enumerate(SIZES)}
    figures: dict[str, float] = {}
    for kind, bits in (("addresses", address_bits), ("frames", frame_bits)):
        matrix = matrix_of([bits(launch.layout) for launch in together])
        if matrix.shape[1] == 0:
            continue
        for name, values in times.items():
            ranks = np.argsort(np.argsort(values)).astype(float)
            figures[f"{kind}_correlation_{name}"] = strongest(matrix, ranks)
        source = np.random.default_rng(SEED)
        orders = [strongest(matrix, source.permutation(len(together))) for _ in range(ORDERS)]
        figures[f"{kind}_correlation_chance"] = float(np.percentile(orders, 95))
    return figures


def address_bits(layout: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the bits of addresses in a launch, by rank, file and bit."""
    found = {}
    for rank in layout:
        for bit in _BITS["stack"]:
            found[f"{rank['rank']} stack {bit}"] = rank["stack"] >> bit & 1
        for name, mapped in named(rank):
            for bit in _BITS["address"]:
                found[f"{rank['rank']} {name} {bit}"] = mapped["at"] >> bit & 1
    return found


def frame_bits(layout: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the bits of physical frames of the heap and of the shared memory."""
    found = {}
    for rank in layout:
        for name, mapped in named(rank):
            if name != "[heap]" and not name.startswith("vader_segment"):
                continue
            for page, frame in enumerate(mapped["frames"]):
                for bit in _BITS["frame"] if frame else ():
                    found[f"{rank['rank']} {name} {page} {bit}"] = frame >> bit & 1
    return found


def named(rank: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the first mapping of each file under a name that is the same in all launches."""
    seen = set()
    for mapped in rank["maps"]:
        name = Path(mapped["name"]).name
        if name.startswith("vader_segment"):
            name = f"vader_segment {name.rpartition('.')[2]}"
        if name not in seen:
            seen.add(name)
            yield name, mapped


def matrix_of(launches: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
    """Return a row for each launch, standardised, of the bits that all have and that vary."""
    names = [name for name in launches[0] if all(name in launch for launch in launches)]
    matrix = np.array([[launch[name] for name in names] for launch in launches], dtype=float)
    matrix = matrix.reshape(len(launches), len(names))
    share = matrix.mean(axis=0) if names else np.zeros(0)
    varied = matrix[:, (share > 0.1) & (share < 0.9)]
    return np.asarray((varied - varied.mean(axis=0)) / varied.std(axis=0))


def strongest(matrix: NDArray[np.float64], ranks: NDArray[Any]) -> float:
    """Return the largest absolute correlation of a column with the ranks."""
    standard = (ranks - ranks.mean()) / ranks.std()
    return float(np.abs(matrix.T @ standard / len(standard)).max())


_SHARE = Estimator("share of all launches", 5 * LAUNCHES, ROUNDS, "rounds")
_OF_GROUP = Estimator("share of the launches of the group", 5 * LAUNCHES, ROUNDS, "rounds")
_WAY = Estimator("of the launches with processors together", LAUNCHES, ROUNDS, "rounds")
_BIT = Estimator(
    "largest absolute rank correlation of a bit with the time, processors together",
    5 * LAUNCHES, ROUNDS, "rounds",
)  # fmt: skip
_HOST = "the host of a virtual machine places its processors"
_CAUSE = "it is compared with the other ways to launch"

EXPERIMENT = Experiment(
    name="slow-launches",
    paper="000 §4, beyond",
    summary="why some launches are slower: distance of processors, addresses, frames, pages",
    run=run,
    figures=(
        Figure("apart_percent", "%", _SHARE, _HOST),
        Figure("moved_percent", "%", _SHARE, _HOST),
        Figure("slow_percent", "%", _SHARE, _HOST),
        Figure("slow_together_percent", "%", _OF_GROUP, _HOST),
        Figure("slow_apart_percent", "%", _OF_GROUP, _HOST),
        Figure(
            "apart_over_together", "ratio",
            Estimator("ratio of median times of the smallest message", 5 * LAUNCHES, ROUNDS,
                      "rounds"),
            _HOST,
        ),
        Figure(
            "trip_{group}_ns",
            "ns",
            Estimator("median round trip of a cache line", 5 * LAUNCHES, 2, "probes"),
            _HOST,
        ),
        Figure("off_percent_{way}", "%", _WAY, _CAUSE),
        Figure("spread_percent_{way}_{size}_bytes", "%", _WAY, _CAUSE),
        Figure(
            "{kind}_correlation_chance", "ratio",
            Estimator("95th percentile of the same for random orders", ORDERS, 5 * LAUNCHES,
                      "launches"),
            "it is what chance gives",
        ),
        Figure("{kind}_correlation_{size}_bytes", "ratio", _BIT, "it is compared with chance"),
    ),
)  # fmt: skip
