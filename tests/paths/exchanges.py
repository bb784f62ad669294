# SPDX-License-Identifier: BSD-3-Clause
"""Two protected programs that exchange numbered, checked messages while cables are pulled."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from hosts import ADDRESS, CALLER, LISTENER, Hosts

from lanewise.launch.native import find_program

_tcp_ports = count(18700)


@dataclass(frozen=True)
class Cut:
    """An interface without carrier, in seconds from the begin of the traffic."""

    interface: str
    at_s: float
    for_s: float

    @property
    def words(self) -> list[str]:
        """Return the option of the program."""
        return ["--cut", f"{self.interface}:{self.at_s}:{self.for_s}"]


@dataclass(frozen=True)
class Plan:
    """What the programs do, and which cables are pulled at the listener and at the caller."""

    seconds: float = 1.0
    queue_pairs: int = 2
    at_listener: Sequence[Cut] = ()
    at_caller: Sequence[Cut] = ()
    options: Sequence[str] = ("--quiet", "100")
    words: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Found:
    """What both found, and what protected them says."""

    listener: dict[str, Any]
    caller: dict[str, Any]
    reports: list[dict[str, Any]]

    def check(self) -> None:
        """Assert that everything arrived exactly once, whole and in order."""
        for mine, theirs in ((self.listener, self.caller), (self.caller, self.listener)):
            assert mine["received"] == theirs["sent"] > 0, self
            wrong = ("lost", "duplicated", "corrupted", "atomics_wrong")
            assert not any(mine[key] for key in wrong), self


def exchange(hosts: Hosts, folder: Path, plan: Plan) -> Found:
    """Run the two programs; AssertionError with what they said where one fails."""
    report = folder / "report.jsonl"
    report.unlink(missing_ok=True)
    program = str(find_program("lanewise-exchange", os.environ))
    protect = [sys.executable, "-m", "lanewise", "protect", "--report", str(report), *plan.options]
    port = next(_tcp_ports)
    both = ["--seconds", str(plan.seconds), "--queue-pairs", str(plan.queue_pairs),
            "--tcp-port", str(port), *plan.words]  # fmt: skip
    lines = {}
    for role, cuts in (("listen", plan.at_listener), ("call", plan.at_caller)):
        pulled = [word for cut in cuts for word in cut.words]
        lines[role] = [*protect, "--", program, role, ADDRESS, *both, *pulled]
    listening = hosts.start(LISTENER, lines["listen"])
    calling = hosts.start(CALLER, lines["call"])
    said = calling.communicate()[0]
    if calling.returncode != 0:
        listening.terminate()
    heard = listening.communicate()[0]
    text = f"--- listener\n{heard}\n--- caller\n{said}\n"
    assert (listening.returncode, calling.returncode) == (0, 0), text
    reports = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return Found(json.loads(heard.splitlines()[-1]), json.loads(said.splitlines()[-1]), reports)
