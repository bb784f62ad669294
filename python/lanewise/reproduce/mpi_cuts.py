# SPDX-License-Identifier: BSD-3-Clause
"""MPI cuts: the integer sort on two hosts, in several ways, with a cable pulled in mid-run.

The sort is the NAS kernel IS of examples/integer_sort.c; it times its ranking and checks the order.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise.errors import RunError
from lanewise.launch.native import find_program
from lanewise.reproduce.workspace import Workspace, failing_as_run

PROGRAM = "integer_sort"
CABLE = "a2.lan0"
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_LANEWISE = (sys.executable, "-m", "lanewise")
_VERIFIED = re.compile(r"^verified, ([0-9.]+) s$", re.MULTILINE)
_UCX = ("env", "UCX_TLS=rc_verbs,ud_verbs,self", "UCX_NET_DEVICES=lanewise0:1",
        "mpirun.openmpi", "-x", "UCX_TLS", "-x", "UCX_NET_DEVICES", "--mca", "pml", "ucx",
        "--mca", "osc", "ucx", "--mca", "pml_ucx_tls", "any",
        "--mca", "pml_ucx_devices", "any")  # fmt: skip
_OPENIB = ("mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "openib,self",
           "--mca", "btl_openib_allow_ib", "1",
           "--mca", "btl_openib_enable_apm_over_ports", "1")  # fmt: skip
_TCP = ("mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")


@dataclass(frozen=True)
class Way:
    """A transport: its launcher, the personality of the device ("" for none), and protection."""

    name: str
    launcher: tuple[str, ...]
    personality: str = "ethernet"
    wrapper: tuple[str, ...] = ()
    needs: str = "mpirun.openmpi"

    def available(self) -> bool:
        """Tell whether what it needs is installed."""
        return shutil.which(self.needs) is not None


PROTECTED = Way("UCX, protected", _UCX, wrapper=(*_LANEWISE, "protect"))
UCX = Way("UCX", _UCX)
OPENIB = Way("openib with its own APM", _OPENIB, "infiniband")
TCP = Way("TCP", _TCP, "")
MPTCP = Way("TCP with MPTCP", ("mptcpize", "run", *_TCP), "", needs="mptcpize")


@dataclass(frozen=True)
class Sorted:
    """What became of a run: None where it was not verified; and what the protection reported."""

    seconds: float | None
    wall_s: float  # with launching and ending
    migrations: int
    last_words: str


@dataclass(frozen=True)
class Pull:
    """When the cable is pulled, from the begin of the launch, and for how long."""

    at_s: float
    for_s: float


def sort(
    workspace: Workspace, way: Way, size: Sequence[str], limit_s: float, pull: Pull | None = None
) -> Sorted:
    """Sort on two hosts; a run that does not end within `limit_s` has failed."""
    with failing_as_run():
        program = str(find_program(PROGRAM, os.environ))
    report = workspace.folder / "protect.jsonl"
    report.unlink(missing_ok=True)
    protect = [*way.wrapper, "--report", str(report), "--"] if way.wrapper else []
    ports = ["--ports", "lan0,lan1", "--personality", way.personality]
    device = [*_LANEWISE, "hca", *ports, "--"] if way.personality else []
    line = [*_LANEWISE, "testbed", "run", "two-port", *_script(workspace.folder, pull), "--",
            *way.launcher, "-n", "2", *device, *protect, program, *size]  # fmt: skip
    environment = {**os.environ, **(_ROOT if os.getuid() == 0 else {})}
    begin_s = time.monotonic()
    text = _run(line, environment, limit_s)
    wall_s = time.monotonic() - begin_s
    found = _VERIFIED.search(text)
    words = (text.strip().splitlines() or ["nothing was said"])[-1]
    return Sorted(float(found[1]) if found else None, wall_s, _migrations(report), words)


def pull_into(whole: Sorted, for_s: float) -> Pull:
    """Return a pull a third into the sorting, as far as a run without one tells."""
    sorting_s = whole.seconds or 0.0
    return Pull(at_s=max(1.0, whole.wall_s - 2 * sorting_s / 3), for_s=for_s)


def seconds_of(done: Sorted, what: str) -> float:
    """Return the time of a run that has to be verified; RunError where it is not."""
    if done.seconds is None:
        raise RunError(f"{what} was not verified: {done.last_words}")
    return done.seconds


def _script(folder: Path, pull: Pull | None) -> list[str]:
    if pull is None:
        return []
    path = folder / "cut.toml"
    path.write_text(
        f'[[fault]]\nat = "{pull.at_s:g} s"\ncut = "{CABLE}"\nfor = "{pull.for_s:g} s"\n',
        encoding="utf-8",
    )
    return ["--faults", str(path)]


def _run(line: Sequence[str], environment: Mapping[str, str], limit_s: float) -> str:
    with subprocess.Popen(
        line, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            return process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            process.terminate()  # the testbed ends with it
            return process.communicate()[0] + f"\nit had not ended after {limit_s:g} s"


def _migrations(report: Path) -> int:
    if not report.is_file():
        return 0
    lines = report.read_text(encoding="utf-8").splitlines()
    return sum(int(json.loads(line)["migrations"]) for line in lines)
