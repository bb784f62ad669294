# SPDX-License-Identifier: BSD-3-Clause
"""Start the ranks of a fabric, and find out which fabrics start here at all.

A fabric that does not start is reported with what its MPI said; nothing else stops.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.launch.choose import Choice, launcher_of
from lanewise.launch.hca import Device, check, variables_for
from lanewise.launch.job import Job
from lanewise.launch.machine import core_count
from lanewise.launch.native import MEASURE, build_command, find_builds
from lanewise.launch.plan import sentence_in
from lanewise.launch.registry import FABRICS as LAUNCHERS
from lanewise.launch.run import Event, Outcome, run, started
from lanewise.results.read import load
from lanewise.suite.fabric import Fabric

START_LIMIT_S = 30.0
WORDS_MAX = 600
# What of an MPI's help says nothing: rules, who speaks, how to see it once more.
_EMPTY = set("-=* \t")
_SENDER = re.compile(r"^\[[^\]]*\]\s*")
_NOISE = re.compile(
    r"sent help message|help_aggregate|^\*\*\*|^Local abort|Per user-direction|Primary job|"
    r"a non-zero exit code|process that caused|exit code:|^Process name|ORTE_ERROR_LOG"
)

Program = Sequence[str | Path]


@dataclass(frozen=True)
class Site:
    """Where ranks run: `enter` makes a launcher's line one that runs in a testbed.

    `interfaces` are those by which its hosts reach each other; empty on this machine.
    """

    enter: Callable[[Sequence[str]], list[str]] = list
    variables: Mapping[str, str] = field(default_factory=dict)
    across_hosts: bool = False
    interfaces: tuple[str, ...] = ()


HERE = Site()


@dataclass(frozen=True)
class Ranks:
    """Some ranks of a fabric, and where they run."""

    fabric: Fabric
    count: int
    site: Site = HERE


@dataclass(frozen=True)
class Presence:
    """Whether a fabric starts here: `why` not, in its MPI's words; `took_s` from start to end."""

    fabric: Fabric
    why: str = ""
    took_s: float = 0.0
    library: str = ""

    @property
    def starts(self) -> bool:
        """Tell whether it can be measured."""
        return not self.why


def choice_of(fabric: Fabric, environment: Mapping[str, str]) -> Choice:
    """Return the launcher and the native build of a fabric; RunError that says what is missing."""
    launcher = LAUNCHERS[fabric.launcher]
    builds = [build for build in find_builds(environment) if build.mpi == fabric.mpi]
    if not builds:
        raise RunError(f"no native build for {fabric.mpi}; build it: {build_command(fabric.mpi)}")
    path = launcher_of(launcher, environment)
    if path is None:
        raise RunError(f"{launcher.launchers[0]} is not installed; install {launcher.package}")
    return Choice(launcher, path, builds[0])


def line_of(ranks: Ranks, choice: Choice, program: Program) -> list[str]:
    """Return the line that starts `program` on the ranks of a fabric, its environment included."""
    fabric, cores = ranks.fabric, core_count()
    job = Job(
        program=tuple(str(word) for word in program),
        ranks=ranks.count,
        launcher=choice.launcher,
        mpi=fabric.mpi,
        cores=cores,
        user_id=os.getuid(),
        hosts=fabric.placement.hosts,
        hostfile=fabric.placement.hostfile,
        launcher_arguments=(*binding(fabric, ranks.count, cores), *fabric.arguments),
    )
    line = choice.fabric.command(job)
    variables = {**device_variables(fabric, ranks.site), **fabric.environment}
    return choice.fabric.carry(line, variables) if variables else line


def device_variables(fabric: Fabric, site: Site) -> dict[str, str]:
    """Return what puts the ranks of a fabric on the software device; nothing where it has none."""
    if not fabric.hca.ports:
        return {}
    ports = site.interfaces[: len(fabric.hca.ports)] or fabric.hca.ports
    device = Device(ports, fabric.hca.personality)
    if not site.interfaces:
        check(device, [name for _, name in socket.if_nameindex()])
    return variables_for(device, os.environ)


def binding(fabric: Fabric, ranks: int, cores: int) -> tuple[str, ...]:
    """Return the launcher's words for binding, the same in every fabric so that none is favoured.

    More ranks than cores are bound to none: they would all share the first.
    """
    wanted = fabric.placement.bind or ("core" if ranks <= cores else "none")
    words = {"openmpi": "--bind-to", "mpich": "-bind-to"}
    return (words[fabric.launcher], wanted) if fabric.launcher in words else ()


def run_on(
    ranks: Ranks,
    program: Program,
    limit_s: float,
    on_event: Callable[[Event], None] = lambda _event: None,
) -> Outcome:
    """Run a native program or any other on the ranks of a fabric; RunError where it fails."""
    choice = choice_of(ranks.fabric, os.environ)
    line = ranks.site.enter(line_of(ranks, choice, program))
    job = Job(program=(), ranks=ranks.count, launcher="", mpi=ranks.fabric.mpi, user_id=os.getuid())
    variables = {**choice.fabric.environment(job), **ranks.site.variables}
    outcome = run(line, variables, on_event, limit_s)
    if outcome.status != 0:
        raise RunError(f"{said(outcome)} (status {outcome.status}{asked_of(ranks.fabric)})")
    return outcome


def asked_of(fabric: Fabric) -> str:
    """Return what a fabric adds to a launch: an MPI may lose the help that would name it."""
    settings = [f"{name}={value}" for name, value in fabric.environment.items()]
    words = [*settings, *fabric.arguments]
    return f", with {shlex.join(words)}" if words else ""


def said(outcome: Outcome) -> str:
    """Return what a failed launch said: our program's sentence, else the MPI's own words."""
    ours = sentence_in(list(outcome.output))
    if ours:
        return ours
    lines = [_SENDER.sub("", text.strip()) for text in outcome.output]
    telling = [text for text in lines if set(text) - _EMPTY and not _NOISE.search(text)]
    words = " / ".join(dict.fromkeys(telling or lines)) or "it said nothing"
    return words if len(words) <= WORDS_MAX else f"{words[:WORDS_MAX]} ..."


def measure_program(fabric: Fabric) -> Path:
    """Return lanewise-measure for the MPI of a fabric."""
    return choice_of(fabric, os.environ).build.program(MEASURE)


def find_out(fabric: Fabric, ranks: int, site: Site = HERE) -> Presence:
    """Start a fabric for one small message, and see what it really is."""
    if site.across_hosts and not fabric.across_hosts:
        return Presence(fabric, "its transport does not leave the host")
    with tempfile.TemporaryDirectory(prefix="lanewise-suite-") as folder:
        path = Path(folder) / "start.jsonl"
        begun = time.monotonic()
        try:
            program = measure_program(fabric)
            arguments = ["pingpong", "--sizes", "8", "--repetitions", "3", "--ranks", str(ranks)]
            line: Program = [program, *arguments, "--events", "-o", path]
            run_on(Ranks(fabric, ranks, site), line, START_LIMIT_S)
            mpi = load(path).context.mpi
        except LanewiseError as error:
            return Presence(fabric, str(error))
        took_s = time.monotonic() - begun
    device = mpi.get("device", "")
    if fabric.device and fabric.device != device:
        why = f"this MPI is built with {device or 'another device'}, not {fabric.device}"
        return Presence(fabric, why)
    return Presence(fabric, "", took_s, mpi.get("library", ""))


def refuse_buffers(words: str) -> None:
    """Raise RequestError with the native program's sentence where --buffers names none."""
    builds = find_builds(os.environ)
    if not words or not builds:
        return
    line = [str(builds[0].program(MEASURE)), "bcast", f"--buffers={words}", "--plan"]
    with started(line, {}) as process:
        text, complaint = process.communicate(timeout=START_LIMIT_S)
    if process.returncode != 0:
        raise RequestError(sentence_in((complaint + text).splitlines()) or f"--buffers {words}")


def supported(fabric: Fabric) -> tuple[set[str], dict[str, str]]:
    """Return the operations that the MPI of a fabric has, and for the others what it lacks."""
    choice = choice_of(fabric, os.environ)
    with started([str(choice.build.program(MEASURE)), "--list"], {}) as process:
        text, _ = process.communicate(timeout=START_LIMIT_S)
    names = [line.partition(" needs ") for line in text.splitlines()]
    lacking = {
        name: needs.removesuffix(", which this MPI lacks") for name, mark, needs in names if mark
    }
    return {name for name, mark, _ in names if not mark}, lacking
