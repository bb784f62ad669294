# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts with two ports each, and a pair of programs that exchange messages between them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from experiments.stopping import kill
from experiments.workspace import failing_as_run
from lanewise.errors import RunError
from lanewise.launch.native import find_program
from lanewise.testbed import bed, shipped
from lanewise.testbed.bed import Bed

PORTS = ("lan0", "lan1")
LISTENER, CALLER = "a1", "a2"
TWO_PORTS = ("--ports", ",".join(PORTS))
ADDRESS = "10.1.0.1"
LIMIT_S = "550"
TIMED_OUT = 124  # the status of timeout
PROGRAM = "lanewise-exchange"
BEGINS = f"{PROGRAM}: traffic begins"
# What lanewise-exchange configures: a timeout of 4.096 us * 2^14, and 7 retries after the first.
RETRIES_MS = 8 * 4.096e-3 * 2**14
_tcp_ports = count(18800)
_LANEWISE = (sys.executable, "-m", "lanewise", "rdma")


@dataclass(frozen=True)
class Said:
    """The lines of JSON that each side printed."""

    listener: list[dict[str, Any]]
    caller: list[dict[str, Any]]


class TrafficEndedError(RunError):
    """The programs exchanged messages and could not go on."""


@contextmanager
def two_hosts() -> Iterator[Bed]:
    """Create the hosts for the duration of the block."""
    with failing_as_run(), bed.created(shipped.find("two-port")) as raised:
        yield raised


def cut(interface: str, at_s: float, for_s: float) -> list[str]:
    """Return the option that pulls a cable, in seconds from the start of the traffic."""
    return ["--cut", f"{interface}:{at_s:.4f}:{for_s:.4f}"]


def faults_of(said: Said) -> dict[str, float]:
    """Return how many messages did not arrive exactly once, whole and in order, by fault."""
    mine, theirs = said.caller[0], said.listener[0]
    faults = {
        key: float(mine[key] + theirs[key])
        for key in ("lost", "duplicated", "corrupted", "atomics_wrong")
    }
    faults["lost"] += abs(mine["sent"] - theirs["received"])
    faults["lost"] += abs(theirs["sent"] - mine["received"])
    return faults


def exchange(  # noqa: PLR0913
    raised: Bed,
    words: Sequence[str],
    *,
    protect: Sequence[str] | None = None,
    device: Sequence[str] = TWO_PORTS,
    at_caller: Sequence[str] = (),
    at_listener: Sequence[str] = (),
) -> Said:
    """Run lanewise-exchange on both hosts, protected where `protect` has options.

    `device` are the options of `lanewise rdma run`.  Raises TrafficEndedError where the messages
    ended before their time.
    """
    with failing_as_run():
        program = str(find_program(PROGRAM, os.environ))
    common = [*words, "--tcp-port", str(next(_tcp_ports))]
    protected = [] if protect is None else [*_LANEWISE, "protect", *protect, "--"]
    start = [*_LANEWISE, "run", *device, "--", *protected, program]
    listening = _start(raised, LISTENER, [*start, "listen", ADDRESS, *common, *at_listener])
    calling = _start(raised, CALLER, [*start, "call", ADDRESS, *common, *at_caller])
    said, complaint = calling.communicate()
    if calling.returncode != 0:
        kill(listening)
    heard, _ = listening.communicate()
    if calling.returncode != 0:
        raise _failure(calling.returncode, complaint)
    return Said(_objects(heard), _objects(said))


def _failure(status: int, complaint: str) -> RunError:
    """Return what a program that failed says; a TrafficEndedError if its traffic had begun."""
    own = [line for line in complaint.splitlines() if line.startswith(PROGRAM)]
    if status == TIMED_OUT:
        why = f"{PROGRAM} had not ended after {LIMIT_S} s"
    elif own and own[-1] != BEGINS:
        why = own[-1]
    else:
        why = f"{PROGRAM} failed: {complaint.strip()}"
    return TrafficEndedError(why) if BEGINS in own else RunError(why)


def retry_exhaustion_ms(raised: Bed) -> float:
    """Return how long an unprotected queue pair retries after its last response."""
    try:
        exchange(raised, ["--seconds", "4"], at_caller=cut(PORTS[0], 0.5, 3.0))
    except RunError as error:
        found = re.search(r"retry counter exceeded, ([0-9.]+) ms after", str(error))
        if found is None:
            raise
        return float(found[1])
    raise RunError("a cut did not end an unprotected program")


def _start(raised: Bed, host: str, words: Sequence[str]) -> subprocess.Popen[str]:
    line = ["timeout", "-k", "5", LIMIT_S, *words]
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
