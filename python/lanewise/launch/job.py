# SPDX-License-Identifier: BSD-3-Clause
"""A job to launch, and what a launcher is."""

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

    `executable` is the program of the launcher.  `mpi` is the family that `program` is built with,
    `user_id` the user who launches.  `folder` is where the launcher's own files go.  `hosts` (with
    slots where they are known, `a:4`) and `hostfile` say where to run; without them the ranks run
    on this host, or on what the batch system allocated.

    `slots` is how many ranks the launcher takes there without being told to, `cores` how many can
    have a core to themselves; None where it is not known.  `scheduler` is the batch system whose
    job this process is part of, `step` tells that srun started this process.  `pmi_plugin` is
    the plugin of srun for this MPI, empty for the usual one.  `notice` has lines for the user, such
    as that ranks share cores.
    """

    program: tuple[str, ...]
    ranks: int
    executable: str
    mpi: str
    slots: int | None = None
    cores: int | None = None
    user_id: int = 1000
    hosts: tuple[str, ...] = ()
    hostfile: str = ""
    launcher_arguments: tuple[str, ...] = ()
    folder: Path = Path()
    cluster: Cluster = field(default_factory=Cluster)
    scheduler: str = ""
    step: bool = False
    pmi_plugin: str = ""
    notice: str = ""

    @property
    def oversubscribed(self) -> bool:
        """Tell whether ranks are known to share cores."""
        return self.cores is not None and self.ranks > self.cores


def no_environment(_job: Job) -> Mapping[str, str]:
    """Return no variables: the launcher needs none."""
    return {}


def no_files(_job: Job) -> Mapping[Path, str]:
    """Return no files: the launcher needs none."""
    return {}


def refuse_variables(line: Sequence[str], _variables: Mapping[str, str]) -> list[str]:
    """Refuse: the ranks of this launcher are not processes."""
    raise RequestError(f"{line[0]} simulates its ranks; name a launcher of real ones")


@dataclass(frozen=True)
class Launcher:
    """A way to launch: its programs, the MPIs that it can start, and four pure functions.

    `executables` are tried in order; `mpis` are families of native builds, the preferred first.
    `package` is what to install where it is missing.  `mark` is a word of the launcher's version
    text: several MPIs install a program called mpirun.  `bind` is its option for binding ranks,
    empty where `lanewise suite` shall not bind them.  `rank_variables` are the prefixes of the
    variables by which a process sees that it is a rank.  `queues` tells that it asks its batch
    system for hosts where it runs outside of a job.  `simulates` tells that ranks are threads
    of a simulator, which runs their program even to ask it a question.  `with_variables` adds
    environment variables for the ranks, and for them alone, to a launch line of the user's.
    `remedies` has, for words that it prints where ranks do not start, what to do then.
    `ready_arguments` are a request that fails where it can start nothing now; empty where none is.
    `remedies` then has these words, too.
    `at_end` are variables of the launcher by which it ends ranks without a pause: they are set for
    ranks of ours alone, where nobody has set them.
    """

    name: str
    title: str
    executables: tuple[str, ...]
    mpis: tuple[str, ...]
    package: str
    mark: str
    command: Callable[[Job], list[str]]
    version_arguments: tuple[str, ...] = ("--version",)
    ready_arguments: tuple[str, ...] = ()
    bind: str = ""
    rank_variables: tuple[str, ...] = ()
    queues: bool = False
    simulates: bool = False
    environment: Callable[[Job], Mapping[str, str]] = no_environment
    remedies: Mapping[str, str] = field(default_factory=dict, hash=False)
    at_end: Mapping[str, str] = field(default_factory=dict, hash=False)
    files: Callable[[Job], Mapping[Path, str]] = no_files
    with_variables: Callable[[Sequence[str], Mapping[str, str]], list[str]] = refuse_variables
