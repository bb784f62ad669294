# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel of a host counts at its ports: packets, carriers, and carriers that were lost."""

from __future__ import annotations

import subprocess
import time

from experiments.hca.hosts import CALLER
from lanewise.errors import RunError
from lanewise.testbed.bed import Bed


def packets(raised: Bed, interface: str) -> int:
    """Return how many packets the caller has sent through an interface."""
    show = raised.line(CALLER, ["cat", "/proc/net/dev"])
    table = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == interface:
            return int(numbers.split()[9])
    raise RunError(f"{CALLER} has no interface {interface}")


def await_packets(raised: Bed, interface: str, count: int, limit_s: float = 60.0) -> None:
    """Wait until the caller has sent so many packets through an interface."""
    until_s = time.monotonic() + limit_s
    while packets(raised, interface) < count:
        if time.monotonic() > until_s:
            raise RunError(f"{CALLER} has not sent {count} packets through {interface}")


def cuts_seen(raised: Bed, host: str, interface: str) -> int:
    """Return how often the kernel saw an interface of a host lose its carrier."""
    show = raised.line(host, ["cat", f"/sys/class/net/{interface}/carrier_down_count"])
    return int(subprocess.run(show, capture_output=True, text=True, check=True).stdout)


def await_carrier(raised: Bed, host: str, interface: str, limit_s: float = 30.0) -> None:
    """Wait until an interface of a host has its carrier."""
    show = raised.line(host, ["cat", f"/sys/class/net/{interface}/carrier"])
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        shown = subprocess.run(show, capture_output=True, text=True, check=False).stdout
        if shown.strip() == "1":
            return
    raise RunError(f"{host}.{interface} has no carrier after {limit_s:g} s")
