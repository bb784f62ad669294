# SPDX-License-Identifier: BSD-3-Clause
"""A job to launch, and what a fabric is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.errors import RequestError


@dataclass(frozen=True)
class Cluster:
    """A simulated cluster: hosts on one switch, each with a full-duplex link of its own.

    `rate_bytes_per_s` and `latency_s` are of one link; a message crosses two.
    `speeds_flops` are the speeds of the hosts, repeated over them in turn.  `platform` is another
    cluster instead, a SimGrid platform with hosts host0, host1, ...; `configuration` are more
    options of smpirun, `variables` what the simulated ranks find in their environment.
    """

    rate_bytes_per_s: float = 125e6
    latency_s: float = 10e-6
    speeds_flops: tuple[float, ...] = (1e9,)
    platform: str = ""
    configuration: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One launch: `program` with its arguments as `ranks` ranks.

    `mpi` is the family that the program is built with, `cores` what this host has, `user_id` who
    launches.  `folder` is where a fabric's own files go.  `hosts` and `hostfile` say where to run;
    without them it is this host, or what the batch system gave.
    """

    program: tuple[str, ...]
    ranks: int
    launcher: str
    mpi: str
    cores: int = 1
    user_id: int = 1000
    hosts: tuple[str, ...] = ()
    hostfile: str = ""
    launcher_arguments: tuple[str, ...] = ()
    folder: Path = Path()
    cluster: Cluster = field(default_factory=Cluster)


def no_environment(_job: Job) -> Mapping[str, str]:
    """Return no variables: the fabric needs none."""
    return {}


def no_files(_job: Job) -> Mapping[Path, str]:
    """Return no files: the fabric needs none."""
    return {}


def no_variables(line: Sequence[str], _variables: Mapping[str, str]) -> list[str]:
    """Refuse: the fabric's ranks are no processes."""
    raise RequestError(f"{line[0]} simulates its ranks; name a launcher of real ones")


@dataclass(frozen=True)
class Fabric:
    """A way to launch: the programs that do it, the MPIs it can carry, and four pure functions.

    `launchers` are tried in order; `mpis` are families of native builds, the preferred first.
    `package` is what to install where it is missing.  `mark` is a word of the launcher's version
    text: several MPIs install a program called mpirun.  `carry` adds environment variables for the
    ranks, and for them alone, to a launch line that somebody else wrote.
    """

    name: str
    title: str
    launchers: tuple[str, ...]
    mpis: tuple[str, ...]
    package: str
    mark: str
    command: Callable[[Job], list[str]]
    version_arguments: tuple[str, ...] = ("--version",)
    environment: Callable[[Job], Mapping[str, str]] = no_environment
    files: Callable[[Job], Mapping[Path, str]] = no_files
    carry: Callable[[Sequence[str], Mapping[str, str]], list[str]] = no_variables
