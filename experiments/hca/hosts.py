# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts of a testbed, each with a software RDMA device, and programs that run on them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.stopping import stop
from lanewise.testbed.bed import Bed
from lanewise.testbed.state import CONTROL

LIMIT_S = 60
LISTENER, CALLER = "a1", "a2"
QPERF_PORT, UCX_PORT = 19765, 13337
ADDRESS = "10.1.0.1"  # of the listener's port 1
SECOND_ADDRESS = "10.1.1.1"  # of its port 2
_LISTENING = "0A"


@dataclass(frozen=True)
class Said:
    """What the two programs of a pair printed, and how they ended."""

    listener: str
    caller: str
    statuses: tuple[int, int]

    @property
    def good(self) -> bool:
        """Tell whether both ended with status 0."""
        return self.statuses == (0, 0)

    def __str__(self) -> str:
        return f"{self.statuses}\n--- listener\n{self.listener}\n--- caller\n{self.caller}"


@dataclass(frozen=True)
class Hosts:
    """The hosts, and the options of the device on them."""

    bed: Bed
    options: Sequence[str] = ("--ports", "lan0,lan1")
    variables: Mapping[str, str] = field(default_factory=dict)
    device: bool = True
    caller: str = CALLER
    limit_s: int = LIMIT_S  # what a program may take

    def start(self, host: str, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program on a host, with the device unless `device` is false."""
        device = [sys.executable, "-m", "lanewise", "rdma", "run", *self.options, "--"]
        settings = [f"{name}={value}" for name, value in self.variables.items()]
        limited = ["timeout", "-k", "5", str(self.limit_s), "env", *settings]
        return subprocess.Popen(
            self.bed.line(host, [*limited, *(device if self.device else []), *words]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def run(self, host: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program on the device of a host to its end."""
        started = self.start(host, words)
        text, _ = started.communicate()
        return subprocess.CompletedProcess(words, started.returncode, text, "")

    def listen(self, words: Sequence[str], port: int) -> subprocess.Popen[str]:
        """Start a program on the listener, and wait until it listens on a TCP port."""
        started = self.start(LISTENER, words)
        self.await_listener(started, port)
        return started

    def await_listener(self, started: subprocess.Popen[str], port: int) -> None:
        """Wait until somebody listens on a TCP port, or the program has ended."""
        show = self.bed.line(LISTENER, ["cat", "/proc/net/tcp", "/proc/net/tcp6"])
        until_s = time.monotonic() + self.limit_s
        while started.poll() is None and time.monotonic() < until_s:
            table = subprocess.run(show, capture_output=True, text=True, check=False).stdout
            rows = [line.split() for line in table.splitlines()]
            if any(row[1].endswith(f":{port:04X}") and row[3] == _LISTENING for row in rows):
                return

    def pair(self, listener: Sequence[str], caller: Sequence[str], port: int = 18515) -> Said:
        """Run a program that listens and one that calls it."""
        listening = self.listen(listener, port)
        calling = self.run(self.caller, caller)
        if calling.returncode != 0:
            stop(listening)
        text, _ = listening.communicate()
        return Said(text, calling.stdout, (listening.returncode, calling.returncode))

    def pull(self, host: str, interface: str) -> None:
        """Pull the cable out of an interface."""
        self.bed.ask(CONTROL, {"host": host, "interface": interface, "up": False})

    def plug(self, host: str, interface: str) -> None:
        """Put the cable back."""
        self.bed.ask(CONTROL, {"host": host, "interface": interface, "up": True})
