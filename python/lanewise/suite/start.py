# SPDX-License-Identifier: BSD-3-Clause
"""Start the ranks of a transport, and find out which transports start here at all.

A transport that does not start is reported with what its MPI said; nothing else stops.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lanewise.errors import LanewiseError, RequestError, RunError
from lanewise.hca.device import Device, check, variables_for
from lanewise.launch.choose import Choice, executable_of, known_remedy, why_not_ready
from lanewise.launch.job import Job
from lanewise.launch.machine import core_count
from lanewise.launch.native import MEASURE, find_builds, how_to_get
from lanewise.launch.pmi_plugin import BY_FILE, pmi_plugin, refusal
from lanewise.launch.registry import LAUNCHERS
from lanewise.launch.room import placed, room
from lanewise.launch.run import Event, EveryLine, Outcome, ignored, started
from lanewise.launch.run_native import Conditions, run_native, says_why, sentence_in, words_of
from lanewise.suite.transport import Transport

START_LIMIT_S = 30.0
START_TRIES = 3
Program = Sequence[str | Path]


@dataclass(frozen=True)
class Location:
    """Where ranks run: `enter` makes a launcher's line one that runs in a testbed.

    `interfaces` are those by which its hosts reach each other; empty on this machine.
    """

    enter: Callable[[Sequence[str]], list[str]] = list
    variables: Mapping[str, str] = field(default_factory=dict)
    across_hosts: bool = False
    interfaces: tuple[str, ...] = ()


HERE = Location()


@dataclass(frozen=True)
class Ranks:
    """Some ranks of a transport, and where they run."""

    transport: Transport
    count: int
    location: Location = HERE


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
            f"no native build for {transport.mpi}; {how_to_get(environment, transport.mpi)}"
        )
    path = executable_of(launcher, environment)
    if path is None:
        raise RunError(f"{launcher.executables[0]} is not installed; install {launcher.package}")
    fault = why_not_ready(launcher, path)
    if fault:
        raise RunError(f"{fault}; {known_remedy(fault, launcher)}")
    if launcher.name != "srun":
        return Choice(launcher, path, builds[0])
    plugin = pmi_plugin(path, transport.mpi)
    if not plugin:
        raise RunError(refusal(path, transport.mpi, BY_FILE))
    return Choice(launcher, path, builds[0], plugin)


def job_of(ranks: Ranks, choice: Choice, program: Program) -> Job:
    """Return the launch of `program` on the ranks of a transport."""
    transport, location = ranks.transport, ranks.location
    placement = transport.placement
    space = room(
        {} if location.across_hosts else os.environ, ",".join(placement.hosts), placement.hostfile
    )
    cores = core_count() if space.cores is None else space.cores
    if location.across_hosts or space.shares_cores:
        refuse_shared_cores(transport)
        cores = 0
    job = Job(
        program=tuple(str(word) for word in program),
        ranks=ranks.count,
        executable=choice.executable,
        mpi=transport.mpi,
        user_id=os.getuid(),
        launcher_arguments=(*binding(transport, ranks.count, cores), *transport.arguments),
        pmi_plugin=choice.pmi_plugin,
    )
    return placed(job, choice.launcher, space)


def conditions_of(ranks: Ranks, limit_s: float | None = None) -> Conditions:
    """Return under what a program of a user runs: its environment, and where."""
    transport, location = ranks.transport, ranks.location
    variables = {**device_variables(transport, location), **transport.environment}
    return Conditions(variables, location.variables, location.enter, limit_s, keeps_pause=True)


def device_variables(transport: Transport, location: Location) -> dict[str, str]:
    """Return the variables that put ranks on the software device of their transport, if any."""
    if not transport.hca.ports:
        return {}
    ports = location.interfaces[: len(transport.hca.ports)] or transport.hca.ports
    device = Device(ports, transport.hca.link_layer)
    if not location.interfaces:
        check(device, [name for _, name in socket.if_nameindex()])
    return variables_for(device, os.environ)


def binding(transport: Transport, ranks: int, cores: int) -> tuple[str, ...]:
    """Return the launcher's option for binding, the same for every transport, to favour none.

    More ranks than cores are bound to none: they would all share the first.
    """
    wanted = transport.placement.bind or ("core" if ranks <= cores else "none")
    option = LAUNCHERS[transport.launcher].bind
    return (option, wanted) if option else ()


def asked_binding(transport: Transport) -> tuple[str, ...]:
    """Return the launcher's option for the binding that a transport asks for, if it does."""
    bind = transport.placement.bind
    return (LAUNCHERS[transport.launcher].bind, bind) if bind else ()


def refuse_shared_cores(transport: Transport) -> None:
    """Raise RequestError where a transport binds ranks of hosts that share the same cores.

    A launcher begins at the first core on each host, so ranks of several hosts would share it.
    """
    if transport.placement.bind == "core":
        raise RequestError(
            f"transport {transport.name} binds ranks to cores, which the hosts of a testbed share; "
            'leave out bind = "core"'
        )


def run_on(
    ranks: Ranks, program: Program, limit_s: float, on_line: Callable[[str], None] = ignored
) -> Outcome:
    """Run a program of a user on the ranks of a transport; RunError where it fails."""
    choice = choice_of(ranks.transport, os.environ)
    job, conditions = job_of(ranks, choice, program), conditions_of(ranks, limit_s)
    return successful(run_native(choice, job, EveryLine(on_line), conditions), ranks.transport)


def measure_on(
    ranks: Ranks,
    arguments: Program,
    limit_s: float,
    on_event: Callable[[Event], None] = lambda _event: None,
) -> Outcome:
    """Run lanewise-measure on the ranks of a transport; RunError where it fails."""
    return successful(launch_measure(ranks, arguments, limit_s, on_event), ranks.transport)


def launch_measure(
    ranks: Ranks,
    arguments: Program,
    limit_s: float,
    on_event: Callable[[Event], None] = lambda _event: None,
) -> Outcome:
    """Run lanewise-measure on the ranks of a transport, and return how it ended, well or not.

    Its ranks end when they are asked to, so the launcher need not wait before it kills them.
    """
    choice = choice_of(ranks.transport, os.environ)
    job = job_of(ranks, choice, (choice.build.program(MEASURE), *arguments))
    conditions = replace(conditions_of(ranks, limit_s), keeps_pause=False)
    return run_native(choice, job, on_event, conditions)


def start_on(ranks: Ranks, arguments: Program, on_event: Callable[[Event], None]) -> Outcome:
    """Run lanewise-measure as the first launch of a transport; RunError where it fails.

    A busy Open MPI 4.1 loses what it has to say in one failed launch of five, so a launch that
    fails without a reason is made again.
    """
    for _ in range(START_TRIES):
        outcome = launch_measure(ranks, arguments, START_LIMIT_S, on_event)
        if outcome.status == 0 or says_why(outcome):
            break
    return successful(outcome, ranks.transport)


def successful(outcome: Outcome, transport: Transport) -> Outcome:
    """Return the outcome of a launch; RunError with the words of the MPI where it failed."""
    if outcome.status != 0:
        raise RunError(f"{words_of(outcome)} (status {outcome.status}{settings_text(transport)})")
    return outcome


def settings_text(transport: Transport) -> str:
    """Return what a transport adds to a launch, for an error.

    An MPI may lose the help that would name it.
    """
    settings = [f"{name}={value}" for name, value in transport.environment.items()]
    words = [*settings, *transport.arguments]
    return f", with {shlex.join(words)}" if words else ""


def find_out(transport: Transport, ranks: int, location: Location = HERE) -> Presence:
    """Start a transport for one small message, and see what it really is."""
    if location.across_hosts and not transport.across_hosts:
        return Presence(transport, "it does not leave the host")
    mpi: dict[str, str] = {}

    def note(event: Event) -> None:
        mpi.update(event.get("mpi", {}))

    begun = time.monotonic()
    try:
        words = ["pingpong", "--sizes", "8", "--repetitions", "3", "--ranks", str(ranks)]
        start_on(Ranks(transport, ranks, location), [*words, "--events"], note)
    except LanewiseError as error:
        return Presence(transport, str(error))
    took_s = time.monotonic() - begun
    if "library" not in mpi:
        return Presence(transport, "its ranks ended without a word; lanewise doctor may say why")
    why = why_other_device(transport, mpi)
    return Presence(transport, why) if why else Presence(transport, "", took_s, mpi["library"])


def why_other_device(transport: Transport, mpi: Mapping[str, str]) -> str:
    """Return what an MPI is built with where it is not the device that a transport wants."""
    device = mpi.get("device", "")
    if transport.device in ("", device):
        return ""
    return f"this MPI is built with {device or 'another device'}, not {transport.device}"


def refuse_other_device(transport: Transport, choice: Choice) -> None:
    """Raise RequestError where the MPI of the native programs has not the device wanted."""
    if not transport.device:
        return
    line = [str(choice.build.program(MEASURE)), "barrier", "--plan"]
    with started(line, transport.environment) as process:
        text, complaint = process.communicate(timeout=START_LIMIT_S)
    if process.returncode != 0:
        raise RunError(sentence_in((complaint + text).splitlines()) or f"{line[0]} does not run")
    why = why_other_device(transport, json.loads(text.splitlines()[-1]).get("mpi", {}))
    if why:
        raise RequestError(f"transport {transport.name} cannot be used: {why}")


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
