# SPDX-License-Identifier: BSD-3-Clause
"""Create a testbed, find it again, run something in it, take it down."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.interrupts import deferred_interrupts
from lanewise.launch.native import find_program
from lanewise.testbed import requests
from lanewise.testbed import state as folders
from lanewise.testbed.congestion import require_listed, require_loadable
from lanewise.testbed.describe import Testbed
from lanewise.testbed.layout import make_plan
from lanewise.testbed.plan import Plan
from lanewise.testbed.read import read
from lanewise.testbed.state import CONTROL, DESCRIPTION, Info
from lanewise.toml.text import read_text

PROGRAM = "lanewise-delay-line"
_END_S = 20.0


class RefusedError(RunError):
    """The system does not permit what a testbed is made of, such as namespaces."""


@dataclass(frozen=True)
class Source:
    """A description: its text, the testbed's name, and where it comes from."""

    text: str
    name: str
    where: str


@dataclass(frozen=True)
class Bed:
    """A testbed that is up."""

    folder: Path
    info: Info

    def text(self) -> str:
        """Return the text of its description."""
        return (self.folder / DESCRIPTION).read_text(encoding="utf-8")

    def testbed(self) -> Testbed:
        """Return its description."""
        return read(self.text(), self.info.name, self.info.where)

    def plan(self) -> Plan:
        """Return its plan."""
        return make_plan(self.testbed())

    def line(self, host: str, command: Sequence[str]) -> list[str]:
        """Return the command line that runs `command` in a host, in the folder we are in.

        RequestError where a testbed does not have that folder.
        """
        here = Path.cwd()
        folders.require_visible(here, "change to another folder first")
        target = ["--target", str(self.info.supervisor)]
        users = ["--user", "--preserve-credentials"] if self.info.own_users else []
        # In a chroot, the root of a mount namespace is not the root that we see; and a folder from
        # outside of it has no name there.
        enter = ["nsenter", *target, *users, "--mount", "--pid", "--root", "--wd", "--"]
        return [*enter, str(self.folder / "enter"), host, str(here), *command]

    def ask(self, socket_name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the supervisor or to a delay line; RunError with its refusal."""
        return requests.ask(self.folder / socket_name, self.info.name, request)

    def switch(self, host: str, interface: str, *, up: bool) -> None:
        """Plug the cable of an interface in or out."""
        self.ask(CONTROL, {"host": host, "interface": interface, "up": up})

    def kill(self, host: str) -> None:
        """Kill whatever runs on a host."""
        self.ask(CONTROL, {"kill": host})


def create(source: Source, *, shared: bool, lifeline: int = subprocess.DEVNULL) -> Bed:
    """Create a testbed; RequestError or RunError says why there is none, and nothing is left.

    With a `lifeline`, the reading end of a pipe, the testbed ends when the pipe's other end does.
    """
    plan = make_plan(read(source.text, source.name, source.where))
    require_loadable(source.text, source.where)
    program = find_program(PROGRAM, os.environ) if plan.delay_lines else Path("-")
    clear_leftovers()
    with deferred_interrupts() as release:
        with folders.new_folder(Info(source.name, source.where, shared)) as (state, lock):
            (state / DESCRIPTION).write_text(source.text, encoding="utf-8")
            process = start_supervisor(state, program, lock, lifeline)
        try:
            release()
            assert process.stdout is not None
            with process.stdout:
                said = process.stdout.readline()
            answer = json.loads(said) if said.startswith("{") else {}
            if "ready" not in answer:
                process.wait()
                error = answer.get("error") or last_words(state)
                if answer.get("refused"):
                    raise RefusedError(error)
                require_listed(source.text, source.where)
                raise RunError(error, answer.get("details", ()))
        except BaseException:
            process.terminate()
            process.wait()
            shutil.rmtree(state, ignore_errors=True)
            raise
    info = folders.read_info(state)
    assert info is not None
    return Bed(state, info)


def start_supervisor(state: Path, program: Path, lock: int, lifeline: int) -> subprocess.Popen[str]:
    """Start the process that a testbed is."""
    words = [sys.executable, "-m", "lanewise.testbed.supervisor", str(state), str(program)]
    words += [] if lifeline == subprocess.DEVNULL else ["--lifeline"]
    with (state / "log").open("w") as log:
        return subprocess.Popen(
            words, stdin=lifeline, stdout=subprocess.PIPE, stderr=log, text=True,
            pass_fds=[lock], start_new_session=True,
        )  # fmt: skip


def last_words(state: Path) -> str:
    """Return what a supervisor that died without an answer has left in its log."""
    with contextlib.suppress(OSError):
        lines = (state / "log").read_text(encoding="utf-8").splitlines()
        if lines:
            return f"the testbed's supervisor died: {lines[-1]}"
    return "the testbed's supervisor died"


def beds() -> list[Bed]:
    """Return the testbeds of this user that are up."""
    return [bed for bed in begun() if folders.is_ready(bed.folder)]


def begun() -> list[Bed]:
    """Return the testbeds that are up, and those that are just being made."""
    found = [(folder, folders.read_info(folder)) for folder in folders.folders()]
    return [
        Bed(folder, info) for folder, info in found
        if info is not None and info.supervisor and folders.lives(folder)
    ]  # fmt: skip


def bed_named(name: str) -> Bed | None:
    """Return the testbed that `up` created under this name, None where there is none."""
    return next((bed for bed in beds() if bed.info.shared and bed.info.name == name), None)


def find_bed(given: str) -> Bed | None:
    """Return the testbed that is up for a description: a file's path, or a name.

    RequestError where the file says something else by now than when the testbed was created.
    """
    path = Path(given)
    found = bed_named(path.name.removesuffix(".toml"))
    if found is None or not path.is_file():
        return found
    name = found.info.name
    if read_text(path, "make it readable") != found.text():
        raise RequestError(
            f"{given} differs from the testbed '{name}' that is up; take that down first with: "
            f"lanewise testbed down {name}"
        )
    return found


def require_bed(name: str) -> Bed:
    """Return the testbed called `name`; RequestError where it is not up."""
    found = bed_named(Path(name).name.removesuffix(".toml"))
    if found is not None:
        return found
    up = ", ".join(bed.info.name for bed in beds() if bed.info.shared) or "none"
    raise RequestError(f"{name} is not up (up: {up}); create it with: lanewise testbed up {name}")


def take_down(bed: Bed) -> None:
    """End a testbed with all that runs in it, and see it gone."""
    with contextlib.suppress(ProcessLookupError):
        outer = os.pidfd_open(bed.info.outer)
        try:
            if folders.lives(bed.folder):
                signal.pidfd_send_signal(outer, signal.SIGTERM)
            if not select.select([outer], [], [], _END_S)[0]:
                raise RunError(f"{bed.info.name} does not end: process {bed.info.outer} still runs")
        finally:
            os.close(outer)
    shutil.rmtree(bed.folder, ignore_errors=True)


def clear_leftovers() -> list[str]:
    """Remove the folders of testbeds whose supervisor was killed; return their names."""
    dead = [folder for folder in folders.folders() if not folders.lives(folder)]
    dead += folders.abandoned()
    for folder in dead:
        shutil.rmtree(folder, ignore_errors=True)
    return [folders.name_of(folder) for folder in dead]


@contextlib.contextmanager
def created(source: Source) -> Iterator[Bed]:
    """Create a testbed for the time of a `with`; it ends with this process however that ends."""
    reading, writing = os.pipe()
    try:
        bed = create(source, shared=False, lifeline=reading)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    try:
        yield bed
    finally:
        os.close(writing)
        take_down(bed)
