# SPDX-License-Identifier: BSD-3-Clause
"""Programs on the device while something watches what they and the device do with memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from experiments.hca import connections
from experiments.hca.hosts import ADDRESS, LISTENER, Hosts
from lanewise.hca.device import Device, variables_for

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).with_name("watching")
# A watched program is tens of times as slow, and slower still beside others.
LIMIT_S = 300
# Reliable connections with all operations, waiting by events, datagrams, and a connection by the
# connection manager.
PERFTEST = (
    "ib_send_bw", "ib_write_lat", "ib_read_bw", "ib_atomic_bw", "ib_send_bw -e",
    "ib_send_bw -c UD", "ib_send_bw -R",
)  # fmt: skip
# Those that go through the memory of one host as well.
OF_ONE_HOST = ("ib_send_bw", "ib_write_lat")


@dataclass(frozen=True)
class Watcher:
    """What stands before a program, whose device it preloads, and the status if it finds wrong."""

    words: tuple[str, ...]
    folder: str  # of the build tree with the device
    preloads: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    status: int = 99

    def on(self, hosts: Hosts) -> Hosts:
        """Return the hosts, on which programs have the device of that tree."""
        chosen = {"LANEWISE_NATIVE": str(ROOT / self.folder)}
        variables = variables_for(Device(interfaces=("lan0", "lan1")), chosen)
        preloads = [*self.preloads, variables["LD_PRELOAD"]]
        variables = {**variables, **dict(self.variables), "LD_PRELOAD": " ".join(preloads)}
        return replace(hosts, device=False, variables=variables, limit_s=LIMIT_S)

    def run(self, hosts: Hosts, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program on the listener's host."""
        return self.on(hosts).run(LISTENER, [*self.words, *words])

    def try_pair(self, hosts: Hosts, program: str) -> None:
        """Run both ends of a program of perftest, both of them watched; fail if that sees wrong."""
        # Of two that wait for a core, one may wait for longer than the other retries.
        executable, *options = program.split()
        words = (*self.words, executable, *options, "-x", "0", "-F", "-n", "50", "-u", "20")
        if shutil.which(executable) is None:
            pytest.skip(f"no {executable} here; install perftest")
        watched = self.on(hosts)
        if "-R" in options:
            sign = connections.service_sign(connections.TCP, 18515)
            client = connections.Client(
                program, "perftest", words, (*words, "{address}"), sign, "#bytes"
            )
            said = connections.pair(watched, client)
        else:
            said = watched.pair(words, [*words, ADDRESS])
        if not said.good or "#bytes" not in said.caller:
            pytest.fail(str(said), pytrace=False)


def memcheck() -> Watcher:
    """Return memcheck, for the device as it is built for users; skip where it is missing."""
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind here; install valgrind")
    words = (
        "valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--num-callers=20",
        "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
        f"--suppressions={FILES / 'memcheck.supp'}",
    )  # fmt: skip
    return Watcher(words, "build/release")


def thread_sanitizer() -> Watcher:
    """Return ThreadSanitizer, for the device that is built with it; skip where that is not."""
    folder = "build/tsan"
    if not (ROOT / folder / "lib" / "liblanewise_verbs.so").is_file():
        pytest.skip(f"{folder} has no device; make test-all builds it")
    name = subprocess.run(
        ["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    # The sanitizer expects memory where random addresses of a newer kernel may not leave it.
    words = ("setarch", os.uname().machine, "-R")
    options = (("TSAN_OPTIONS", f"exitcode=99:suppressions={FILES / 'threads.supp'}"),)
    return Watcher(words, folder, (str(Path(name).resolve()),), options)


__all__ = ["LISTENER", "OF_ONE_HOST", "PERFTEST", "Watcher", "memcheck", "thread_sanitizer"]
