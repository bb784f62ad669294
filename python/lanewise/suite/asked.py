# SPDX-License-Identifier: BSD-3-Clause
"""What a command or a program in Python asks of a launch, and the launch that follows from it.

What transports need is imported only where one is named, since most launches name none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.errors import RequestError
from lanewise.launch.choose import Choice, choose, why_versions_differ
from lanewise.launch.job import Cluster, Job
from lanewise.launch.native import cautions
from lanewise.launch.room import Room, placed, room
from lanewise.launch.run_native import PLAIN, Conditions
from lanewise.launch.words import listed
from lanewise.toml.quantities import duration_s, rate_bytes_per_s, speed_flops

if TYPE_CHECKING:
    from lanewise.suite.transport import Transport


@dataclass(frozen=True)
class Asked:
    """How to launch ranks, and where; what is empty is left to the machine.

    `hosts` are separated by commas, with slots where they are known: `a:4,b:4`.  `cluster` is what
    the launcher smpi simulates.
    """

    launcher: str = ""
    transport: str = ""
    hosts: str = ""
    hostfile: str = ""
    launcher_arguments: tuple[str, ...] = ()
    cluster: Cluster = field(default_factory=Cluster)


def asked_for(  # noqa: PLR0913
    launcher: str,
    transport: str,
    hosts: str | Sequence[str],
    hostfile: str | Path,
    launcher_arguments: Sequence[str],
    *,
    smpi_rate: str | float = "",
    smpi_latency: str | float = "",
    smpi_speeds: str | float | Iterable[str | float] = "",
) -> Asked:
    """Return what a program in Python asks for; its hosts and its speeds may be several.

    Raises RequestError for launcher arguments that are no list, and for what smpi cannot simulate.
    """
    rate, latency, speeds = (
        None if is_left_out(value) else _joined(value)
        for value in (smpi_rate, smpi_latency, smpi_speeds)
    )
    return Asked(
        launcher=launcher,
        transport=transport,
        hosts=_joined(hosts),
        hostfile="" if is_left_out(hostfile) else str(hostfile),
        launcher_arguments=listed("launcher_arguments", launcher_arguments or ()),
        cluster=cluster_of("smpi_", rate, latency, speeds),
    )


def is_left_out(value: Any) -> bool:
    """Return whether an argument asks for nothing: None, and an empty text or list."""
    return value is None or (isinstance(value, (str, list, tuple)) and not value)


def _joined(value: Any) -> str:
    """Return what was given, one or several, as the text that the commands take."""
    if is_left_out(value):
        return ""
    # An array without dimensions is one number, and cannot be iterated.
    is_one = isinstance(value, str) or getattr(value, "ndim", 1) == 0
    if is_one or not isinstance(value, Iterable):
        return str(value)
    return ",".join(map(str, value))


def cluster_of(prefix: str, rate: str | None, latency: str | None, speeds: str | None) -> Cluster:
    """Return the cluster that smpi simulates; what is None is as usual.

    RequestError that names a value that is none, by a name that begins with `prefix`.
    """
    cluster = Cluster()
    if rate is not None:
        rate_of_link = rate_bytes_per_s(f"{prefix}rate", rate)
        cluster = replace(cluster, rate_bytes_per_s=rate_of_link)
    if latency is not None:
        cluster = replace(cluster, latency_s=duration_s(f"{prefix}latency", latency, "10us"))
    if speeds is not None:
        of_hosts = tuple(speed_flops(f"{prefix}speeds", speed) for speed in speeds.split(","))
        cluster = replace(cluster, speeds_flops=of_hosts)
    return cluster


def chosen(asked: Asked, environment: Mapping[str, str] = os.environ) -> Choice:
    """Return the launcher and native build that the launcher or the transport asks for."""
    transport = transport_of(asked)
    if transport is None:
        return choose(asked.launcher, environment)
    from lanewise.suite.start import choice_of  # noqa: PLC0415

    if asked.launcher:
        raise RequestError(
            f"the transport {asked.transport} names its launcher; leave the launcher out"
        )
    return choice_of(transport, environment)


def transport_of(asked: Asked) -> Transport | None:
    """Return the transport asked for, None where it is the MPI's own choice."""
    if not asked.transport:
        return None
    from lanewise.suite.transport import find  # noqa: PLC0415

    return find(asked.transport)


def conditions_of(asked: Asked) -> Conditions:
    """Return what the transport sets in the environment of the ranks."""
    transport = transport_of(asked)
    if transport is None:
        return PLAIN
    from lanewise.suite.start import HERE, device_variables  # noqa: PLC0415

    return Conditions(variables={**device_variables(transport, HERE), **transport.environment})


def room_of(asked: Asked, choice: Choice) -> Room:
    """Return where ranks go: the hosts asked for or of the transport, the job's, or this one."""
    transport = transport_of(asked)
    hosts, hostfile = asked.hosts, asked.hostfile
    if transport is not None and not hosts and not hostfile:
        hosts, hostfile = ",".join(transport.placement.hosts), transport.placement.hostfile
    return room(os.environ, hosts, hostfile, real=not choice.launcher.simulates)


def job_running(
    asked: Asked, choice: Choice, folder: Path, program: Sequence[str], ranks: int
) -> Job:
    """Return the launch of a native program, by name and with its arguments.

    `folder` is where the launcher's own files go.
    """
    space = room_of(asked, choice)
    job = Job(
        program=(str(choice.build.program(program[0])), *program[1:]),
        ranks=ranks,
        executable=choice.executable,
        mpi=choice.build.mpi,
        user_id=os.getuid(),
        hosts=tuple(name for name in asked.hosts.split(",") if name),
        hostfile=asked.hostfile,
        launcher_arguments=(
            *arguments_of_transport(asked, choice, space),
            *asked.launcher_arguments,
        ),
        folder=folder,
        cluster=asked.cluster,
        pmi_plugin=choice.pmi_plugin,
    )
    job = placed(job, choice.launcher, space)
    notices = [job.notice, *cautions(choice.build), why_versions_differ(choice)]
    return replace(job, notice="\n".join(filter(None, notices)))


def arguments_of_transport(asked: Asked, choice: Choice, space: Room) -> tuple[str, ...]:
    """Return what the transport asked for says to its launcher, if there is one.

    Raises RequestError where it cannot be had: its device in this MPI, or its binding here.
    """
    transport = transport_of(asked)
    if transport is None:
        return ()
    from lanewise.suite import start  # noqa: PLC0415

    start.refuse_other_device(transport, choice)
    if space.shares_cores:
        start.refuse_shared_cores(transport)
    return (*start.asked_binding(transport), *transport.arguments)
