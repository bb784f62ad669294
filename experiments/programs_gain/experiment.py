# SPDX-License-Identifier: BSD-3-Clause
"""Programs that gain: whole programs, plain and with the file that lanewise tune wrote for them.

Two programs that know nothing of Lanewise run between two sites of four hosts, which a link of
5 ms joins: a data-parallel training (training.py), whose ranks add up gradients of 25 MiB, and a
search for the nearest points (neighbours.py), whose root scatters 4 MiB to each rank.  On one host
six programs run, for which there is little to gain and which therefore must not lose.  Each place
is tuned once.  `lanewise run --interleaved` then launches each program both plain and tuned, and
the times are those of whole launches, from the launcher to its end.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from experiments.applications import Application, hpcc, integer_sort, lammps
from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.session import TESTBED_GRACE_S
from experiments.workspace import LOCAL, Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.choose import Choice, choose, require_launcher
from lanewise.launch.run import started
from lanewise.plots import Bar, draw_bars
from lanewise.results.quantity import time_text
from lanewise.testbed import bed, running, shipped
from lanewise.tuning import interleaved
from lanewise.tuning.interleaved import Interleaved

SITES_ROUNDS, HOST_ROUNDS = 6, 12
SITES_RANKS, HOST_RANKS = 8, 2
TRAINING, NEIGHBOURS = (
    Path(__file__).with_name(f"{name}.py") for name in ("training", "neighbours")
)
# What commands and programs print is progress, and goes where progress goes.
_LANEWISE = ("sh", "-c", 'exec "$@" >&2', "sh", sys.executable, "-m", "lanewise")
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# What the two programs call with how much; only what crosses the link in lanes is tried, as a
# repetition takes about a second.
_FOR_SITES = (("allreduce", "25M"), ("scatter", "4M"))
# What the six programs call.
_FOR_HOST = ("allreduce", "alltoall", "bcast", "gather", "reduce", "scatter")

Run = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Program:
    """A program and its arguments; `prepare` writes its input into the folder that it runs in."""

    name: str
    words: tuple[str, ...]
    prepare: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Scale:
    """How often programs run each way, how long they are, and how long the tunings may take."""

    sites_rounds: int
    host_rounds: int
    steps: int
    launches: int
    repetitions: str
    size_limit: str
    host_budget: str


WHOLE = Scale(
    SITES_ROUNDS,
    HOST_ROUNDS,
    steps=20,
    launches=7,
    repetitions="4:12",
    size_limit="30s",
    host_budget="6min",
)
QUICK = Scale(1, 1, steps=5, launches=5, repetitions="2:3", size_limit="10s", host_budget="20s")


def chosen() -> Choice:
    """Return the launcher of Open MPI, and what is built for it."""
    choice = choose(LOCAL, os.environ)
    require_launcher(choice)
    return choice


def site_programs(scale: Scale) -> list[Program]:
    """Return the programs that run between the sites."""
    return [
        Program("training", (sys.executable, str(TRAINING), str(scale.steps))),
        Program("neighbours", (sys.executable, str(NEIGHBOURS), str(scale.steps))),
    ]


def host_programs(scale: Scale) -> list[Program]:
    """Return the six programs of one host; RunError where one is not installed."""
    steps = scale.steps
    frames = chosen().build.programs / "frames"
    installed = [integer_sort(LOCAL, 20, steps), lammps(20 * steps), hpcc(20 * steps)]
    return [
        *site_programs(scale),
        Program("frames", (str(frames), str(10 * steps))),
        *map(_program, installed),
    ]


def _program(one: Application) -> Program:
    if not one.available():
        raise RunError(f"{one.name} is not installed: apt-get install {one.name.lower()}")
    return Program(one.name.lower().replace(" ", "_"), one.words, one.prepare)


def at_sites(workspace: Workspace, scale: Scale) -> dict[str, Interleaved]:
    """Tune between the two sites, then run the programs there."""
    files: list[Path] = []
    with failing_as_run(), bed.created(shipped.find("two-site")) as raised:

        def run(words: Sequence[str]) -> int:
            return running.run_in(raised, running.Wanted([*_LANEWISE, *words]))

        for collective, size in _FOR_SITES:
            file = workspace.fresh(f"two-site-{collective}.json")
            workspace.say(f"two sites: tuning {collective} of {size}")
            _must(run, [
                "tune", collective, "-n", str(SITES_RANKS), "--sizes", size,
                "--launcher", LOCAL, "--algorithm", "multilane", "--repetitions", scale.repetitions,
                "--time-limit", scale.size_limit, "--launches", str(scale.launches),
                "--quiet", "-o", str(file),
            ])  # fmt: skip
            files.append(file)
        tuning = workspace.fresh("two-site.json")
        _must(run, ["tune", "--merge", *map(str, files), "-o", str(tuning)])
        place = Place("two-site", run, tuning, SITES_RANKS)
        return {
            one.name: place.compare(workspace, one, scale.sites_rounds)
            for one in site_programs(scale)
        }


def on_host(workspace: Workspace, scale: Scale) -> dict[str, Interleaved]:
    """Tune on this host, then run the programs on it."""
    variables = _ROOT if os.getuid() == 0 else {}

    def run(words: Sequence[str]) -> int:
        with started(
            [*_LANEWISE, *words], variables, folder=workspace.folder, streams=(None, None),
            grace_s=TESTBED_GRACE_S,
        ) as process:  # fmt: skip
            return process.wait()

    tuning = workspace.fresh("one-host.json")
    workspace.say(f"one host: tuning {', '.join(_FOR_HOST)}")
    _must(run, [
        "tune", *_FOR_HOST, "-n", str(HOST_RANKS), "--launcher", LOCAL,
        "--budget", scale.host_budget, "--quiet", "-o", str(tuning),
    ])  # fmt: skip
    place = Place("one-host", run, tuning, HOST_RANKS)
    return {
        one.name: place.compare(workspace, one, scale.host_rounds) for one in host_programs(scale)
    }


@dataclass(frozen=True)
class Place:
    """Where programs run, how a command of lanewise is run there, and the tuning made there."""

    name: str
    run: Run
    tuning: Path
    ranks: int

    def compare(self, workspace: Workspace, program: Program, rounds: int) -> Interleaved:
        """Run a program plain and tuned, interleaved."""
        workspace.say(f"{self.name}: {program.name}, {rounds} rounds")
        if program.prepare is not None:
            program.prepare(workspace.folder)
        times = workspace.fresh(f"{self.name}-{program.name}.json")
        _must(self.run, [
            "run", "--tuning", str(self.tuning), "--mpi", LOCAL, "--interleaved", str(rounds),
            "-o", str(times), "--", chosen().executable, "-n", str(self.ranks),
            *program.words,
        ])  # fmt: skip
        return interleaved.load(times)


def _must(run: Run, words: Sequence[str]) -> None:
    status = run(words)
    if status != 0:
        raise RunError(f"lanewise {' '.join(words)} ended with status {status}")


def run(workspace: Workspace) -> Outcome:
    """Run the programs at both places, plain and tuned."""
    return _run(workspace, WHOLE)


def _run(workspace: Workspace, scale: Scale) -> Outcome:
    if importlib.util.find_spec("mpi4py") is None:
        raise RunError("the programs need mpi4py; pip install mpi4py")
    sites = at_sites(workspace, scale)
    host = on_host(workspace, scale)
    figures, launches = figures_of(sites, host)
    return Outcome(
        figures=figures,
        rows=[Row(name, "-", f"{value:.3g}") for name, value in figures.items()],
        conditions={
            "sites": "2 sites of 4, LAN 10 Gb/s, WAN 250 Mb/s a host, 1 Gb/s in all, 5 ms",
            "ranks": [SITES_RANKS, HOST_RANKS],
            **asdict(scale),
        },
        files=draw(workspace, sites, host),
        launches=launches,
    )


def figures_of(
    sites: Mapping[str, Interleaved], host: Mapping[str, Interleaved]
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the figures, and what each round gives by itself."""
    figures: dict[str, float] = {}
    worst = max(sites, key=lambda name: sites[name].ratio())
    named = [("two_site_worst_ratio", sites[worst])]
    named += [(f"two_site_ratio_{name}", runs) for name, runs in sites.items()]
    named += [(f"one_host_ratio_{name}", runs) for name, runs in host.items()]
    for name, runs in named:
        figures[name] = runs.ratio()
        interval = runs.interval()
        if interval is not None:
            figures[f"{name}_low"], figures[f"{name}_high"] = interval
    intervals = [runs.interval() for runs in host.values()]
    uppers = [interval[1] for interval in intervals if interval is not None]
    if len(uppers) == len(host):
        figures["one_host_worst_upper"] = max(uppers)
    return figures, {name: each_ratio(runs) for name, runs in named}


def each_ratio(runs: Interleaved) -> list[float]:
    """Return tuned over plain of each round."""
    return [tuned / plain for tuned, plain in zip(runs.tuned_s, runs.plain_s, strict=True)]


def draw(
    workspace: Workspace, sites: Mapping[str, Interleaved], host: Mapping[str, Interleaved]
) -> list[Path]:
    """Draw the times of the programs, a file for each place."""
    files: list[Path] = []
    for place, found in (("two-site", sites), ("one-host", host)):
        panels = [
            (
                f"{name.replace('_', ' ')}, {place}",
                [
                    Bar(way, statistics.median(times_s), way, min(times_s), max(times_s))
                    for way, times_s in (("plain", runs.plain_s), ("tuned", runs.tuned_s))
                ],
            )
            for name, runs in found.items()
        ]
        files += workspace.save(draw_bars(panels, time_text), f"programs-gain-{place}")
    return files


_PAIR = "launch plain and one tuned"
_OF_MEDIANS = "median time tuned over median time plain, interval over launches"
_AT_SITES = Estimator(_OF_MEDIANS, SITES_ROUNDS, 1, _PAIR)
_ON_HOST = replace(_AT_SITES, launches=HOST_ROUNDS)
_WORST = replace(_AT_SITES, text=f"{_OF_MEDIANS}, of the worse of two programs")
_UPPER = Estimator(
    "upper end of the interval of tuned over plain, of the worst of six programs",
    1, HOST_ROUNDS, "launches each way",
)  # fmt: skip

EXPERIMENT = Experiment(
    name="programs-gain",
    paper="001 §6, beyond",
    summary="whole programs, plain and tuned, between two sites and on one host",
    run=run,
    quick=Quick(partial(_run, scale=QUICK), takes_s=420.0),
    figures=(
        Figure("two_site_worst_ratio", "ratio", _WORST, Target("<=", 0.6)),
        Figure("one_host_worst_upper", "ratio", _UPPER, Target("<=", 1.01)),
        Figure(
            "two_site_ratio_{program}", "ratio", _AT_SITES, "the target is for the worse program"
        ),
        Figure(
            "one_host_ratio_{program}", "ratio", _ON_HOST,
            "the target is for the upper end of the interval of the worst program",
        ),
    ),
)  # fmt: skip
