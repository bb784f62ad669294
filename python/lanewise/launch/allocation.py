# SPDX-License-Identifier: BSD-3-Clause
"""What a batch system gave this job: its hosts, and how many ranks each has room for.

Read from the environment of the job: Slurm's variables, the node file of PBS, or the placement of
a testbed.  Values that do not fit together are refused with the variable's name.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lanewise.errors import RequestError
from lanewise.toml.text import read_text

T = TypeVar("T")

TESTBED = "testbed"
HOSTS_MAX = 100_000
_COUNT = re.compile(r"([0-9]{1,7})(?:\(x([0-9]{1,7})\))?")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
OUTSIDE_BRACKETS = re.compile(r",(?![^\[]*\])")


@dataclass(frozen=True)
class Host:
    """A host of an allocation: the ranks that the batch system has slots for, and its CPUs."""

    name: str
    slots: int
    cores: int


@dataclass(frozen=True)
class Allocation:
    """What `scheduler` (Slurm, PBS, testbed) gave the job called `job`.

    `ranks` is the number of tasks asked for, the slots where the job asked for none.  `step` tells
    that this process is itself a task that srun started.  `hostfile` is the file that names the
    hosts to a launcher which does not know the scheduler; empty where every launcher does.
    """

    scheduler: str
    job: str
    hosts: tuple[Host, ...]
    ranks: int
    step: bool = False
    hostfile: str = ""

    @property
    def title(self) -> str:
        """Return what a person calls it, such as Slurm job 12."""
        return (
            f"{self.scheduler} {self.job}"
            if self.scheduler == TESTBED
            else (f"{self.scheduler} job {self.job}")
        )

    @property
    def slots(self) -> int:
        """Return the slots of all hosts."""
        return sum(host.slots for host in self.hosts)

    @property
    def cores(self) -> int:
        """Return the CPUs of all hosts."""
        return sum(host.cores for host in self.hosts)

    def host(self, name: str) -> Host | None:
        """Return the host of this name, with or without its domain; None where it is not in it."""
        short = name.partition(".")[0]
        return next((each for each in self.hosts if each.name.partition(".")[0] == short), None)


def allocation_in(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation that this process runs in, None where it runs in none.

    A testbed inside an allocation wins: its hosts are where ranks go.  Raises RequestError for
    values that cannot be read.
    """
    for read in (of_testbed, slurm, pbs):
        found = read(environment)
        if found is not None:
            return found
    return None


def slurm(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation of a Slurm job."""
    job = environment.get("SLURM_JOB_ID")
    if not job:
        return None
    names = _of("SLURM_JOB_NODELIST", environment, node_names)
    cores = _of("SLURM_JOB_CPUS_PER_NODE", environment, counts)
    if len(cores) != len(names):
        raise RequestError(
            f"SLURM_JOB_CPUS_PER_NODE={environment['SLURM_JOB_CPUS_PER_NODE']} is for {len(cores)} "
            f"hosts, SLURM_JOB_NODELIST names {len(names)}; start a new salloc or sbatch"
        )
    step = "SLURM_STEP_ID" in environment
    slots = _slurm_slots(environment, cores)
    ranks = sum(slots)
    if "SLURM_NTASKS" in environment:
        ranks = _of("SLURM_NTASKS", environment, _number)
    hosts = tuple(map(Host, names, slots, cores))
    return Allocation("Slurm", job, hosts, ranks, step)


def _slurm_slots(environment: Mapping[str, str], cores: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tasks of each host; a step has a list for its own hosts only, which is no use."""
    if "SLURM_TASKS_PER_NODE" in environment:
        tasks = _of("SLURM_TASKS_PER_NODE", environment, counts)
        if len(tasks) == len(cores):
            return tasks
    each = 1
    if "SLURM_CPUS_PER_TASK" in environment:
        each = max(1, _of("SLURM_CPUS_PER_TASK", environment, _number))
    return tuple(max(1, count // each) for count in cores)


def pbs(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation of a PBS job: its node file has a line for each slot."""
    job, path = environment.get("PBS_JOBID"), environment.get("PBS_NODEFILE")
    if not job or not path:
        return None
    remedy = "name a file with a host on each line, or unset PBS_JOBID to run on this host"
    lines = read_text(Path(path), remedy, f"PBS_NODEFILE={path}").split()
    wrong = next((name for name in lines if not _NAME.fullmatch(name)), None)
    if wrong is not None or not lines:
        what = f"'{wrong[:40]}' is not a host name" if wrong else "it names no host"
        raise RequestError(f"PBS_NODEFILE={path} cannot be used: {what}")
    hosts = tuple(Host(name, slots, slots) for name, slots in Counter(lines).items())
    return Allocation("PBS", job, hosts, len(lines), hostfile=path)


def of_testbed(environment: Mapping[str, str]) -> Allocation | None:
    """Return the hosts of the testbed that this process runs in; they share this host's cores."""
    path = environment.get("LANEWISE_PLACEMENT")
    if not path or "LANEWISE_TESTBED_RUN" not in environment:
        return None
    try:
        values = json.loads(read_text(Path(path), "unset it", f"LANEWISE_PLACEMENT={path}"))
        placed = Counter(str(rank["host"]) for rank in values["ranks"])
        name = str(values["testbed"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RequestError(f"LANEWISE_PLACEMENT={path} cannot be read ({error!r})") from None
    hosts = tuple(Host(host, slots, slots) for host, slots in placed.items())
    return Allocation(TESTBED, name, hosts, sum(placed.values()))


def _of(name: str, environment: Mapping[str, str], read: Callable[[str], T]) -> T:
    """Return a variable, read; RequestError with its name where it is missing or cannot be read."""
    text = environment.get(name)
    if text is None:
        raise RequestError(
            f"SLURM_JOB_ID is set and {name} is not; run inside salloc or sbatch, "
            "or unset SLURM_JOB_ID to run on this host"
        )
    try:
        return read(text)
    except ValueError as error:
        shown = text if len(text) <= 60 else f"{text[:60]}..."
        raise RequestError(
            f"{name}={shown!r} cannot be read: {error}; unset SLURM_JOB_ID to run on this host"
        ) from None


def _number(text: str) -> int:
    """Return a positive number; ValueError for any other text."""
    if not re.fullmatch(r"[0-9]{1,7}", text) or int(text) == 0:
        raise ValueError(f"{text[:40]!r} is not a positive number")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """Return one number per host from `32(x2),16` of Slurm; ValueError for other text."""
    found: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        if match is None or int(match[1]) == 0:
            raise ValueError(f"{part[:40]!r} is not a count such as 32 or 32(x2)")
        times = int(match[2] or 1)
        if len(found) + times > HOSTS_MAX:
            raise ValueError(f"it is for more than {HOSTS_MAX} hosts")
        found += [int(match[1])] * times
    return tuple(found)


def node_names(text: str) -> tuple[str, ...]:
    """Return the hosts of a node list `login,node[1-3,07]`; ValueError for any other text."""
    found: list[str] = []
    for part in OUTSIDE_BRACKETS.split(text):
        for name in _names(part):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name[:40]!r} is not a host name")
            found.append(name)
            if len(found) > HOSTS_MAX:
                raise ValueError(f"it names more than {HOSTS_MAX} hosts")
    return tuple(found)


def _names(part: str) -> Iterator[str]:
    """Yield the names that one element of a node list stands for, one after another."""
    if "".join(match[0] for match in _PIECE.finditer(part)) != part or not part:
        raise ValueError(f"{part[:40]!r} is not a name such as node1 or node[1-4]")
    pieces = [(match[2],) if match[2] else _values(match[1]) for match in _PIECE.finditer(part)]
    return map("".join, itertools.product(*pieces))


def _values(ranges: str) -> tuple[str, ...]:
    """Return the numbers of `1-3,07`, as wide as the first of each range."""
    found: list[str] = []
    for each in ranges.split(","):
        match = _RANGE.fullmatch(each)
        if match is None:
            raise ValueError(f"{each[:40]!r} is not a range such as 1-4")
        first, last = match[1], match[2] or match[1]
        if not 0 <= int(last) - int(first) < HOSTS_MAX - len(found):
            raise ValueError(f"{each} is not a range of at most {HOSTS_MAX} hosts")
        found += [f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)]
    return tuple(found)
