# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts with two ports each, and a pair of programs that exchange messages between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from lanewise.errors import RunError
from lanewise.launch.native import find_program
from lanewise.reproduce.workspace import failing_as_run
from lanewise.testbed import bed, shipped
from lanewise.testbed.bed import Bed

PORTS = ("lan0", "lan1")
LISTENER, CALLER = "a1", "a2"
ADDRESS = "10.1.0.1"
LIMIT_S = "550"
PROGRAM = "lanewise-exchange"
_tcp_ports = count(18800)


@dataclass(frozen=True)
class Said:
    """The lines of JSON that each side printed."""

    listener: list[dict[str, Any]]
    caller: list[dict[str, Any]]


@contextmanager
def two_hosts() -> Iterator[Bed]:
    """Raise the hosts for as long as the block lasts."""
    with failing_as_run(), bed.raised(shipped.find("two-port")) as raised:
        yield raised


def cut(interface: str, at_s: float, for_s: float) -> list[str]:
    """Return the option that pulls a cable, in seconds from the begin of the traffic."""
    return ["--cut", f"{interface}:{at_s:.4f}:{for_s:.4f}"]


def faults_of(said: Said) -> dict[str, float]:
    """Return what did not arrive exactly once, whole and in order; all zeros where all is well."""
    mine, theirs = said.caller[0], said.listener[0]
    faults = {
        key: float(mine[key] + theirs[key])
        for key in ("lost", "duplicated", "corrupted", "atomics_wrong")
    }
    faults["lost"] += abs(mine["sent"] - theirs["received"])
    faults["lost"] += abs(theirs["sent"] - mine["received"])
    return faults


def exchange(
    raised: Bed,
    words: Sequence[str],
    *,
    protect: Sequence[str] | None = None,
    at_caller: Sequence[str] = (),
    at_listener: Sequence[str] = (),
) -> Said:
    """Run lanewise-exchange on both hosts, under `lanewise protect` with options where given."""
    with failing_as_run():
        program = str(find_program(PROGRAM, os.environ))
    common = [*words, "--tcp-port", str(next(_tcp_ports))]
    listening = _start(
        raised, LISTENER, protect, [program, "listen", ADDRESS, *common, *at_listener]
    )
    calling = _start(raised, CALLER, protect, [program, "call", ADDRESS, *common, *at_caller])
    said, complaint = calling.communicate()
    if calling.returncode != 0:
        listening.terminate()
    heard, _ = listening.communicate()
    if calling.returncode != 0:
        own = [line for line in complaint.splitlines() if line.startswith(PROGRAM)]
        raise RunError(own[0] if own else f"{PROGRAM} failed: {complaint.strip()}")
    return Said(_objects(heard), _objects(said))


def _start(
    raised: Bed, host: str, protect: Sequence[str] | None, words: Sequence[str]
) -> subprocess.Popen[str]:
    lanewise = [sys.executable, "-m", "lanewise"]
    device = [*lanewise, "hca", "--ports", ",".join(PORTS), "--"]
    protected = [] if protect is None else [*lanewise, "protect", *protect, "--"]
    line = ["timeout", "-k", "5", LIMIT_S, *device, *protected, *words]
    return subprocess.Popen(
        raised.line(host, line),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def slope_and_r2(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the line through the points, and how much of the variance it explains."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    sxx = sum((a - mean_x) ** 2 for a in x)
    sxy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    syy = sum((b - mean_y) ** 2 for b in y)
    if sxx == 0 or syy == 0:
        return 0.0, 0.0
    return sxy / sxx, sxy * sxy / (sxx * syy)
