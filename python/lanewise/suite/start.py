# SPDX-License-Identifier: BSD-3-Clause
"""Start the ranks of a transport, and find out which transports start here at all.

A transport that does not start is reported with what its MPI said; nothing else stops.
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
from lanewise.launch.choose import Choice, executable_of
from lanewise.launch.hca import Device, check, variables_for
from lanewise.launch.job import Job
from lanewise.launch.machine import core_count
from lanewise.launch.native import MEASURE, build_command, find_builds
from lanewise.launch.plan import sentence_in
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.run import Event, Outcome, run, started
from lanewise.results.read import load
from lanewise.suite.transport import Transport

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
    """Some ranks of a transport, and where they run."""

    transport: Transport
    count: int
    site: Site = HERE


@dataclass(frozen=True)
class Presence:
    """Whether a transport starts here: `why` it does not, in its MPI's words; `took_s` in all."""

    transport: Transport
    why: str = ""
    took_s: float = 0.0
    library: str = ""

    @property
    def starts(self) -> bool:
        """Tell whether it can be measured."""
        return not self.why


def choice_of(transport: Transport, environment: Mapping[str, str]) -> Choice:
    """Return the launcher and native build of a transport; RunError says what is missing."""
    launcher = LAUNCHERS[transport.launcher]
    builds = [build for build in find_builds(environment) if build.mpi == transport.mpi]
    if not builds:
        raise RunError(
            f"no native build for {transport.mpi}; build it: {build_command(transport.mpi)}"
        )
    path = executable_of(launcher, environment)
    if path is None:
        raise RunError(f"{launcher.executables[0]} is not installed; install {launcher.package}")
    return Choice(launcher, path, builds[0])


def line_of(ranks: Ranks, choice: Choice, program: Program) -> list[str]:
    """Return the line that starts `program` on the ranks of a transport, with its environment."""
    transport, cores = ranks.transport, core_count()
    job = Job(
        program=tuple(str(word) for word in program),
        ranks=ranks.count,
        executable=choice.executable,
        mpi=transport.mpi,
        cores=cores,
        user_id=os.getuid(),
        hosts=transport.placement.hosts,
        hostfile=transport.placement.hostfile,
        launcher_arguments=(*binding(transport, ranks.count, cores), *transport.arguments),
    )
    line = choice.launcher.command(job)
    variables = {**device_variables(transport, ranks.site), **transport.environment}
    return choice.launcher.with_variables(line, variables) if variables else line


def device_variables(transport: Transport, site: Site) -> dict[str, str]:
    """Return the variables that put ranks on the software device of their transport, if any."""
    if not transport.hca.ports:
        return {}
    ports = site.interfaces[: len(transport.hca.ports)] or transport.hca.ports
    device = Device(ports, transport.hca.personality)
    if not site.interfaces:
        check(device, [name for _, name in socket.if_nameindex()])
    return variables_for(device, os.environ)


def binding(transport: Transport, ranks: int, cores: int) -> tuple[str, ...]:
    """Return the launcher's option for binding, the same for every transport, to favour none.

    More ranks than cores are bound to none: they would all share the first.
    """
    wanted = transport.placement.bind or ("core" if ranks <= cores else "none")
    option = LAUNCHERS[transport.launcher].bind
    return (option, wanted) if option else ()


def run_on(
    ranks: Ranks,
    program: Program,
    limit_s: float,
    on_event: Callable[[Event], None] = lambda _event: None,
) -> Outcome:
    """Run a native program or any other on the ranks of a transport; RunError where it fails."""
    choice = choice_of(ranks.transport, os.environ)
    line = ranks.site.enter(line_of(ranks, choice, program))
    job = Job(
        program=(), ranks=ranks.count, executable="", mpi=ranks.transport.mpi, user_id=os.getuid()
    )
    variables = {**choice.launcher.environment(job), **ranks.site.variables}
    outcome = run(line, variables, on_event, limit_s)
    if outcome.status != 0:
        raise RunError(f"{said(outcome)} (status {outcome.status}{asked_of(ranks.transport)})")
    return outcome


def asked_of(transport: Transport) -> str:
    """Return what a transport adds to a launch: an MPI may lose the help that would name it."""
    settings = [f"{name}={value}" for name, value in transport.environment.items()]
    words = [*settings, *transport.arguments]
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


def measure_program(transport: Transport) -> Path:
    """Return lanewise-measure for the MPI of a transport."""
    return choice_of(transport, os.environ).build.program(MEASURE)


def find_out(transport: Transport, ranks: int, site: Site = HERE) -> Presence:
    """Start a transport for one small message, and see what it really is."""
    if site.across_hosts and not transport.across_hosts:
        return Presence(transport, "it does not leave the host")
    with tempfile.TemporaryDirectory(prefix="lanewise-suite-") as folder:
        path = Path(folder) / "start.jsonl"
        begun = time.monotonic()
        try:
            program = measure_program(transport)
            arguments = ["pingpong", "--sizes", "8", "--repetitions", "3", "--ranks", str(ranks)]
            line: Program = [program, *arguments, "--events", "-o", path]
            run_on(Ranks(transport, ranks, site), line, START_LIMIT_S)
            mpi = load(path).context.mpi
        except LanewiseError as error:
            return Presence(transport, str(error))
        took_s = time.monotonic() - begun
    device = mpi.get("device", "")
    if transport.device and transport.device != device:
        why = f"this MPI is built with {device or 'another device'}, not {transport.device}"
        return Presence(transport, why)
    return Presence(transport, "", took_s, mpi.get("library", ""))


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


def supported(transport: Transport) -> tuple[set[str], dict[str, str]]:
    """Return the operations that the MPI of a transport has, and for the others what it lacks."""
    choice = choice_of(transport, os.environ)
    with started([str(choice.build.program(MEASURE)), "--list"], {}) as process:
        text, _ = process.communicate(timeout=START_LIMIT_S)
    names = [line.partition(" needs ") for line in text.splitlines()]
    lacking = {
        name: needs.removesuffix(", which this MPI lacks") for name, mark, needs in names if mark
    }
    return {name for name, mark, _ in names if not mark}, lacking
