# SPDX-License-Identifier: BSD-3-Clause
"""Faults planted in a program, and whether sweeps over all possible faults find them.

The program without a word (planted.c) is sound, over a reliable transport and over one that loses
messages, so whatever is found there is false.  In programs of others a finding may be true, such
as an object that is not destroyed where a program returns from `main` after an error, so these are
told without a target.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Quick, Row, Target
from experiments.native import compiled
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import LanewiseError
from lanewise.launch.machine import core_count
from lanewise.plots import Bar, draw_bars
from lanewise.rdma.sweep.runs import Asked, Sweep, sweep
from lanewise.rdma.sweep.text import sentence

SOURCE = Path(__file__).with_name("planted.c")
CHECK = "grep -qx 'sum 210'"
RUNS_MAX, TIMEOUT_S = 14, 4.0


@dataclass(frozen=True)
class Plant:
    """A variant with a fault: its words, and the ending that gives it away."""

    words: tuple[str, ...]
    ending: str


PLANTS = (
    Plant(("leak",), "leak"),
    Plant(("unchecked",), "crash"),
    Plant(("blind",), "wrong result"),
    Plant(("skip",), "hang"),
    Plant(("no-resend", "unreliable"), "hang"),
)
SOUND: tuple[tuple[str, ...], ...] = ((), ("unreliable",))


def planted(folder: Path) -> str:
    """Compile the program with the planted faults and return its path."""
    strict = ("-std=gnu11", "-O1", "-Wall", "-Werror")
    return str(compiled("cc", SOURCE, folder / "planted", *strict, "-libverbs"))


@dataclass(frozen=True)
class Foreign:
    """A program of others: how its server and it are called, and its key among the figures."""

    key: str
    server: str
    program: str


def _perftest(program: str) -> Foreign:
    words = f"{program} -d lanewise0 -x 0 -F -n 100"
    return Foreign(program, words, f"{words} {{address}}")


UCX = "env UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=lanewise0:1 ucx_perftest"
FOREIGN = (
    Foreign(
        "ibv_rc_pingpong", "ibv_rc_pingpong -g 0 -n 50", "ibv_rc_pingpong -g 0 -n 50 {address}"
    ),
    Foreign(
        "rping", "rping -s -a {address} -C 10 -S 500", "rping -c -a {address} -C 10 -S 500 -v -V"
    ),
    _perftest("ib_send_bw"),
    _perftest("ib_write_lat"),
    Foreign(
        "ucx_perftest", UCX,
        f"{UCX} {{address}} -t tag_lat -n 50 -w 5",
    ),
)  # fmt: skip


def found(program: Sequence[str], server: str = "", check: str = "") -> Sweep:
    """Sweep the first faults of everything that occurs in a program."""
    return sweep(
        Asked(
            program=program, server=shlex.split(server), check=shlex.split(check),
            timeout_s=TIMEOUT_S, runs_max=RUNS_MAX, jobs=core_count(),
        )
    )  # fmt: skip


def run(workspace: Workspace, foreign: Sequence[Foreign] = FOREIGN) -> Outcome:
    """Sweep the planted programs, the sound ones, and those of others that are here."""
    sweeps: dict[str, Sweep] = {}
    unswept: list[str] = []
    with failing_as_run(), tempfile.TemporaryDirectory() as folder:
        program = planted(Path(folder))
        for words in (*(plant.words for plant in PLANTS), *SOUND):
            name = " ".join(("planted", *words))
            workspace.say(name)
            sweeps[name] = found([program, *words], check=CHECK)
        for one in foreign:
            if shutil.which(one.key) is not None:
                workspace.say(one.key)
                try:
                    sweeps[one.key] = found(shlex.split(one.program), one.server)
                except LanewiseError as error:
                    unswept.append(f"{one.key} was not swept: {error}")
    return _outcome(workspace, sweeps, unswept)


def _outcome(workspace: Workspace, sweeps: dict[str, Sweep], unswept: list[str]) -> Outcome:
    named = [(" ".join(("planted", *plant.words)), plant) for plant in PLANTS]
    caught = [
        float(plant.ending in {one.verdict.ending.value for one in sweeps[name].findings})
        for name, plant in named
    ]
    false = [
        float(len(sweeps[" ".join(("planted", *words))].findings)) for words in SOUND
    ]  # fmt: skip
    others = {name: len(one.findings) for name, one in sweeps.items() if "planted" not in name}
    bars = [Bar(name, float(len(one.findings)), name) for name, one in sweeps.items()]
    return Outcome(
        figures={
            "planted_found": sum(caught) / len(caught),
            "false": sum(false),
            **{f"{name}_findings": float(count) for name, count in others.items()},
        },
        rows=[Row(name, "-", sentence(one)) for name, one in sweeps.items()],
        conditions={"runs_max": RUNS_MAX, "timeout_s": TIMEOUT_S},
        files=workspace.save(
            draw_bars([(f"Findings in {RUNS_MAX} runs", bars)], lambda value: f"{value:.0f}"),
            "lab-sweep",
        ),
        notes=unswept + [
            f"{name}, {run.fault}: {run.verdict.ending.value}, {run.verdict.why}"
            for name in others for run in sweeps[name].findings
        ],
        launches={"planted_found": caught, "false": false},
    )  # fmt: skip


_RUNS = "runs with a fault each"

EXPERIMENT = Experiment(
    name="lab-sweep",
    paper="003 §2",
    summary="faults planted in RDMA programs, found by a sweep over all possible faults",
    run=run,
    figures=(
        Figure(
            "planted_found", "share",
            Estimator("share of planted faults that are found", len(PLANTS), RUNS_MAX, _RUNS),
            Target(">=", 1.0),
        ),
        Figure(
            "false", "findings",
            Estimator("findings in sound programs", len(SOUND), RUNS_MAX, _RUNS),
            Target("<=", 0.0),
        ),
        Figure(
            "{program}_findings", "findings", Estimator("findings", 1, RUNS_MAX, _RUNS),
            "programs of others may well leave objects or wait after an error",
        ),
    ),
    quick=Quick(partial(run, foreign=()), takes_s=120.0),
)  # fmt: skip
