# SPDX-License-Identifier: BSD-3-Clause
"""Run a command in a testbed that is up, and leave nothing of it behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from lanewise.errors import RequestError, RunError
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.machine import core_count, processes
from lanewise.launch.run import terminated_as_interrupted
from lanewise.testbed import fault, launchers
from lanewise.testbed.bed import Bed

MARK = "LANEWISE_TESTBED_RUN"
_GRACE_S = 5.0


@dataclass(frozen=True)
class Wanted:
    """What is to run: ranks go to `hosts` (all where it is empty), the command itself to `at`."""

    command: Sequence[str]
    hosts: Sequence[str] = ()
    at: str = ""
    faults: str = ""
    fault_log: str = ""


def run_in(bed: Bed, wanted: Wanted) -> int:
    """Run a command in a testbed and return its status, or 1 where it is 0 and a fault failed.

    On KeyboardInterrupt (or SIGTERM or SIGHUP) the command is asked to end, then killed.
    """
    plan = bed.plan()
    chosen = launchers.chosen_hosts(plan, wanted.hosts)
    at = wanted.at or chosen[0].name
    known = [namespace.name for namespace in plan.namespaces]
    if at not in known:
        raise RequestError(f"there is no '{at}' in the testbed; there are {', '.join(known)}")
    line = bed.line(at, wanted.command)
    events = fault.load(Path(wanted.faults), plan) if wanted.faults else []
    ranks = launchers.rank_count(wanted.command) or len(chosen)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=bed.folder))
    write_files(folder, bed.info.name, launchers.spread(chosen, ranks))
    told = launchers.environment(
        plan, bed.folder / "agent", folder, ranks=ranks, cores=core_count()
    )
    variables, exported_names = launchers.keeping_exported(told, os.environ)
    if exported_names:
        kept = ", ".join(f"{key}={os.environ[key]}" for key in exported_names)
        ours = ", ".join(f"{key}={told[key]}" for key in exported_names)
        sys.stderr.write(
            f"lanewise testbed: your exported {kept} stays in effect; "
            f"the testbed would set {ours}\n"
        )
    try:
        with faults_played(bed, events, wanted.fault_log) as failures:
            status = wait_for(line, {**variables, MARK: str(folder)})
        return 1 if status == 0 and failures else status
    finally:
        kill_marked(folder)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def faults_played(bed: Bed, events: Sequence[fault.Event], log: str) -> Iterator[list[RunError]]:
    """Let faults happen meanwhile; those whose time has not come at the end do not.

    It yields a list that has what failed once it is over.
    """
    stop = threading.Event()
    failures: list[RunError] = []
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(opened(log)) if log else sys.stderr

        def write(line: str) -> None:
            try:
                stream.write(line + "\n")
                stream.flush()
            except OSError as error:
                raise RunError(
                    f"{log or 'standard error'} cannot be written: {error.strerror}"
                ) from None

        def play() -> None:
            try:
                fault.play(bed, events, write, stop)
            except RunError as error:
                failures.append(error)
                sys.stderr.write(
                    f"lanewise testbed: the remaining faults were not injected: {error}\n"
                )

        player = threading.Thread(target=play, daemon=True)
        player.start()
        try:
            yield failures
        finally:
            stop.set()
            player.join()


@contextlib.contextmanager
def opened(log: str) -> Iterator[TextIO]:
    """Open the log of the faults; RequestError where that cannot be."""
    try:
        stream = Path(log).open("w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise RequestError(
            f"--fault-log {log} cannot be written: {error.strerror}; name another file"
        ) from None
    try:
        yield stream
    finally:
        # What a full disk did not take has been told.
        with contextlib.suppress(OSError):
            stream.close()


def write_files(folder: Path, name: str, layout: launchers.RankLayout) -> None:
    """Write what the launchers and Lanewise read."""
    files = {
        "openmpi.hosts": launchers.openmpi_hosts(layout),
        "hydra.hosts": launchers.hydra_hosts(layout),
        "placement.json": json.dumps(launchers.placement(name, layout), indent=1) + "\n",
    }
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")


def wait_for(line: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a command line to its end, with our own input and output."""
    with terminated_as_interrupted(), deferred_interrupts() as release:
        try:
            process = subprocess.Popen(line, env={**os.environ, **variables})
        except OSError as error:
            raise RunError(f"{line[0]} could not be started: {error.strerror}") from None
        try:
            release()
            status = process.wait()
        except KeyboardInterrupt:
            ask_to_end(process)
            raise
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return status if status >= 0 else 128 - status


def ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Ask the command, which is the child of the process that entered the testbed, to end."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with suppress(OSError, subprocess.TimeoutExpired):
        for child in children.read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGTERM)
        process.wait(_GRACE_S)


def kill_marked(folder: Path) -> None:
    """Kill what a run has left: daemons that have gone into a session of their own."""
    deadline_s = time.monotonic() + _GRACE_S
    while (left := marked(folder)) and time.monotonic() < deadline_s:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def marked(folder: Path) -> list[int]:
    """Return the processes of the run that has this folder."""
    mark = f"{MARK}={folder}\0".encode()
    found = []
    for process in processes():
        with suppress(OSError):
            if mark in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found
