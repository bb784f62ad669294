# SPDX-License-Identifier: BSD-3-Clause
"""Conduct a suite from request to samples: find out what starts, plan, measure, keep the state."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from lanewise.errors import RequestError, RunError
from lanewise.launch.machine import available_memory_bytes
from lanewise.suite import application, benchmarks, plan, start, state
from lanewise.suite.benchmarks import Effort, Group
from lanewise.suite.execute import Suite, Tell, execute
from lanewise.suite.transport import Transport


@dataclass(frozen=True)
class Request:
    """What is asked for; without benchmarks those of the effort, without a budget its own."""

    transports: Sequence[Transport]
    benchmarks: Sequence[str] = ()
    effort: Effort = "quick"
    budget_s: float = 0.0
    ranks: int = 2
    window: int = 160
    seed: int = 1
    rounds: int = 0
    testbed: str = ""
    validate: bool = False
    buffers: str = ""
    location: start.Location = start.HERE

    def asked(self) -> state.Asked:
        """Return what the state keeps of it."""
        groups = benchmarks.groups_for(self.effort, self.benchmarks)
        return state.Asked(
            ranks=self.ranks,
            effort=self.effort,
            transports=tuple(one.name for one in self.transports),
            benchmarks=tuple(name for group in groups for name in group.benchmarks),
            window=self.window,
            seed=self.seed,
            rounds=self.rounds or plan.ROUNDS[self.effort],
            testbed=self.testbed,
            validate=self.validate,
            buffers=self.buffers,
            digests=tuple(one.digest for one in self.transports),
        )


@dataclass(frozen=True)
class Ready:
    """A suite that can be executed, and its launches in order."""

    suite: Suite
    order: Sequence[plan.Launch]


def refuse_folder(folder: Path, *, resume: bool) -> None:
    """Raise RequestError unless the folder is new, or has a suite and `resume` goes on with it."""
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder} is a file; name a folder")
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise RequestError(f"cannot write {folder}: {there} is not writable; name another --folder")
    exists = (folder / state.FILE).exists()
    if exists and not resume:
        raise RequestError(f"{folder} has a suite; add --resume to go on, or name another folder")
    if not exists and resume:
        raise RequestError(f"{folder} has no suite to go on with; leave out --resume")


def prepare(request: Request, folder: Path, say: Callable[[str], None]) -> Ready:
    """Start each transport once and plan the launches; RunError where no transport starts.

    Raises RequestError where the folder holds a suite of another request.
    """
    groups = benchmarks.groups_for(request.effort, request.benchmarks)
    start.refuse_buffers(request.buffers)
    refuse_window(request, groups, available_memory_bytes())
    known = begun(folder, request.asked())
    present = []
    for one in request.transports:
        found = start.find_out(one, request.ranks, request.location)
        verdict = f"starts in {found.took_s:.1f} s" if found.starts else found.why
        say(f"{one.name}: {' '.join(verdict.split())}")
        known.transports[one.name] = transport_state(found, groups)
        present.append(found)
    here = {found.transport.name: found.transport for found in present if found.starts}
    if not here:
        raise RunError(f"no transport starts here; {present[0].transport.name}: {present[0].why}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(
            f"cannot write {folder}: {error.strerror}; name another --folder"
        ) from error
    state.save(known, folder)
    budget_s = request.budget_s or plan.BUDGET_S[request.effort]
    spent_s = sum(found.took_s for found in present)
    suite = Suite(
        folder=folder,
        state=known,
        transports=here,
        groups=groups,
        effort=request.effort,
        budget_s=max(budget_s - spent_s, 0.0),
        location=request.location,
    )
    names = [group.name for group in groups]
    order = plan.launches(list(here), names, known.asked.rounds, known.asked.seed)
    return Ready(suite, [one for one in order if has_benchmarks(suite, one)])


def refuse_window(request: Request, groups: Sequence[Group], room_bytes: float) -> None:
    """Raise RequestError where the ranks, all on one host, could not hold their windows."""
    sizes = [
        plan.last_size(group.sizes_for(request.effort)) for group in groups if group.has_windows()
    ]
    wanted_bytes = request.ranks * request.window * max(sizes, default=0)
    if not request.testbed and wanted_bytes > room_bytes:
        raise RequestError(
            f"--window {request.window} wants {wanted_bytes / (1 << 30):.1f} GiB of memory where "
            f"{room_bytes / (1 << 30):.1f} are free; choose a smaller one"
        )


def has_benchmarks(suite: Suite, launch: plan.Launch) -> bool:
    """Say whether the MPI of a launch has any benchmark of its group."""
    group = next(group for group in suite.groups if group.name == launch.group)
    lacks = suite.state.transports[launch.transport].lacks
    return any(name not in lacks for name in group.benchmarks)


def begun(folder: Path, asked: state.Asked) -> state.State:
    """Return the state of the folder, if it is of the same request, or a new one."""
    if (folder / state.FILE).exists():
        known = state.load(folder)
        state.require_same(known.asked, asked, folder)
        return known
    started = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return state.State(asked=asked, started=started)


def transport_state(found: start.Presence, groups: Sequence[Group]) -> state.TransportState:
    """Return the state of a transport: whether it starts, and which of the benchmarks it lacks."""
    lacks: dict[str, str] = {}
    if found.starts:
        lacks.update(start.supported(found.transport)[1])
        needs = application.lacking(found.transport)
        if needs:
            lacks[benchmarks.APPLICATION] = needs
    asked = {benchmark for group in groups for benchmark in group.benchmarks}
    return state.TransportState(
        title=found.transport.title,
        why=found.why,
        library=found.library,
        took_s=found.took_s,
        lacks={name: need for name, need in lacks.items() if name in asked},
    )


def conduct(request: Request, folder: Path, say: Callable[[str], None], tell: Tell) -> state.State:
    """Prepare and execute; return the state that is also in the folder."""
    ready = prepare(request, folder, say)
    execute(ready.suite, ready.order, tell, lambda _event: None)
    return ready.suite.state
