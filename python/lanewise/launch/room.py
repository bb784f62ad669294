# SPDX-License-Identifier: BSD-3-Clause
"""Where the ranks of a launch go and how many there is room for: one rule for all commands.

Hosts that are named count first, then the allocation that a batch system gave, then this host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lanewise.errors import RequestError
from lanewise.launch.allocation import TESTBED, Allocation, allocation_in
from lanewise.launch.hosts import Named, hosts_in, read_hostfile
from lanewise.launch.job import Job, Launcher
from lanewise.launch.machine import core_count, process_count_max

RANKS_MIN = 2


@dataclass(frozen=True)
class Room:
    """Where ranks go, and how many there is room for.

    `ranks`: how many to start where nobody says.
    `slots`: how many the launcher will count; None in a testbed, and for hosts that were named,
        unless all of them have slots that somebody or the allocation says.
    `cores`: how many ranks can have one to themselves; None where `slots` is, and always in a
        testbed, whose hosts share the cores of this one.
    `place`: all of it in words.
    `named`: the hosts as somebody named them; empty where nobody did.
    `hosts`: the same hosts, with slots of the allocation where nobody said.
    `hostfile`: the file that names them; empty where there is none.
    `allocation`: what a batch system or a testbed gave; None where nothing did.
    """

    ranks: int
    slots: int | None
    cores: int | None
    place: str
    hosts: tuple[Named, ...] = ()
    named: tuple[Named, ...] = ()
    hostfile: str = ""
    allocation: Allocation | None = None

    @property
    def shares_cores(self) -> bool:
        """Tell whether several hosts have the same cores, as those of a testbed do."""
        return self.allocation is not None and self.allocation.scheduler == TESTBED

    def exceeds_tasks(self, ranks: int) -> bool:
        """Tell whether there are cores for so many ranks, and fewer slots: a job has few tasks."""
        return (
            self.slots is not None and self.cores is not None and self.slots < ranks <= self.cores
        )

    def hosts_for(self, ranks: int) -> tuple[Named, ...]:
        """Return the hosts that were named, with the slots that the launcher shall count.

        For more ranks than tasks the cores are the slots.
        """
        if self.shares_cores:
            return self.named
        if not self.exceeds_tasks(ranks):
            return self.hosts
        return tuple(_with_cores(one, self.allocation) for one in self.named)

    def notice(self, ranks: int) -> str:
        """Return one line about ranks that must share cores; empty where each has its own."""
        if self.cores is None or ranks <= self.cores:
            return ""
        return (
            f"{ranks} ranks share {self.cores} cores ({self.place}), so times include waiting "
            f"for a core; -n {max(RANKS_MIN, self.cores)} or fewer avoids it"
        )


def room(
    environment: Mapping[str, str], hosts: str = "", hostfile: str = "", *, real: bool = True
) -> Room:
    """Return the room for ranks; simulated ones (not `real`) never leave this host."""
    if not real:
        return room_on(None, (), core_count())
    if hosts and hostfile:
        raise RequestError("--hosts and --hostfile exclude each other; name the hosts in one")
    named = read_hostfile(hostfile) if hostfile else hosts_in(hosts)
    found = room_on(allocation_in(environment), named, core_count())
    return replace(found, hostfile=hostfile) if hostfile else found


def room_on(allocation: Allocation | None, named: Sequence[Named], cores_here: int) -> Room:
    """Return the room on hosts that were named, else on the allocation, else on this host."""
    if named:
        return _room_on_named(allocation, named)
    if allocation is None:
        ranks = max(RANKS_MIN, cores_here)
        return Room(ranks, cores_here, cores_here, "this host")
    shared = allocation.scheduler == TESTBED
    return Room(
        ranks=max(RANKS_MIN, allocation.ranks),
        slots=None if shared else allocation.slots,
        cores=None if shared else max(allocation.cores, allocation.slots),
        place=allocation.title,
        hostfile=allocation.hostfile,
        allocation=allocation,
    )


def _room_on_named(allocation: Allocation | None, named: Sequence[Named]) -> Room:
    """Return the room on named hosts; slots that nobody named are those of the allocation."""
    if allocation is not None:
        refuse_strangers(allocation, named)
    known = tuple(_with_slots(one, allocation) for one in named)
    slots = [one.slots for one in known if one.slots is not None]
    total = sum(slots) if len(slots) == len(known) else None
    ranks = max(RANKS_MIN, len(known) if total is None else total)
    place = "the hosts named" if len(known) > 1 else f"host {known[0].name}"
    cores = None if total is None else sum(_with_cores(one, allocation).slots or 0 for one in named)
    found = Room(ranks, total, cores, place, known, tuple(named), "", allocation)
    return replace(found, cores=None) if found.shares_cores else found


def _with_slots(named: Named, allocation: Allocation | None) -> Named:
    host = allocation.host(named.name) if allocation is not None else None
    return Named(named.name, host.slots) if host and named.slots is None else named


def _with_cores(named: Named, allocation: Allocation | None) -> Named:
    """Return a host with as many slots as it has cores; slots that somebody named stay."""
    host = allocation.host(named.name) if allocation is not None else None
    return Named(named.name, max(host.slots, host.cores)) if host and named.slots is None else named


def refuse_strangers(allocation: Allocation, named: Sequence[Named]) -> None:
    """Raise RequestError where a host is named that the allocation does not have."""
    for one in named:
        if one.name != "localhost" and allocation.host(one.name) is None:
            names = [host.name for host in allocation.hosts]
            shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")
            raise RequestError(
                f"host {one.name} is not in {allocation.title}, "
                f"which has {shown}; name some of these, or leave --hosts out"
            )


def refuse_more_than_processes(ranks: int, processes: int) -> None:
    """Raise RequestError where this host cannot have as many processes as there are ranks."""
    if ranks > processes:
        raise RequestError(
            f"this host runs at most {processes} processes, and {ranks} ranks were asked for; "
            "take fewer, or name hosts with --hosts"
        )


def placed(job: Job, launcher: Launcher, room: Room) -> Job:
    """Return `job` with what its launcher has to know of where the ranks go.

    A launcher that asks its batch system for hosts has all that there are, outside of a job.
    RequestError where this host, if it has to take all, cannot have as many processes.
    """
    if launcher.simulates:
        return job
    inside = room.allocation
    if launcher.queues and inside is None and not room.named:
        return job
    if inside is None and not room.named:
        refuse_more_than_processes(job.ranks, process_count_max())
    hosts = room.named if launcher.queues else room.hosts_for(job.ranks)
    renamed = bool(room.named) and room.exceeds_tasks(job.ranks)
    in_file = bool(room.hostfile) and not launcher.queues and not renamed
    return replace(
        job,
        hosts=() if in_file else tuple(host.word for host in hosts),
        hostfile=room.hostfile if in_file else "",
        slots=room.slots,
        cores=room.cores,
        scheduler=inside.scheduler if inside else "",
        step=inside is not None and inside.step,
        notice=room.notice(job.ranks),
    )
