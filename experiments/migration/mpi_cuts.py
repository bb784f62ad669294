# SPDX-License-Identifier: BSD-3-Clause
"""MPI cuts: applications on two hosts, over several transports, with a cable pulled in mid-run.

Each application checks its result; LAMMPS ends with the very numbers of an undisturbed run.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.applications import Application
from experiments.session import TESTBED_GRACE_S
from experiments.workspace import Workspace
from lanewise.errors import RunError
from lanewise.launch.run import started

CABLE = "a2.lan0"
SORT_TRIAL = 30  # iterations
TRIAL_LIMIT_S = 150.0
FOR_EVER_S = math.inf
_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_FAULT = '{"event": "fault"'
_LANEWISE = (sys.executable, "-m", "lanewise")
_TIMED = Path(__file__).with_name("timed_launch.py")
_OVER_UCX = ("env", "UCX_TLS=rc_verbs,ud_verbs,self", "UCX_NET_DEVICES=lanewise0:1")
_UCX = (*_OVER_UCX, "mpirun.openmpi", "-x", "UCX_TLS", "-x", "UCX_NET_DEVICES",
        "--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "pml_ucx_tls", "any",
        "--mca", "pml_ucx_devices", "any")  # fmt: skip
_OPENIB = ("mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "openib,self",
           "--mca", "btl_openib_allow_ib", "1",
           "--mca", "btl_openib_enable_apm_over_ports", "1")  # fmt: skip
_TCP = ("mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
# The second path of MPTCP is one that each host announces; Open MPI itself keeps to the first.
_ANNOUNCE = (
    "ip mptcp limits set subflows 4 add_addr_accepted 4; "
    'for a in $(ip -4 -o address show dev lan1 | awk \'{ sub("/.*", "", $4); print $4 }\'); '
    'do ip mptcp endpoint add $a dev lan1 signal; done; exec mptcpize run "$0" "$@"'
)


@dataclass(frozen=True)
class Way:
    """A transport: its launcher, the link layer of the device ("" for none), and protection."""

    name: str
    launcher: tuple[str, ...]
    link_layer: str = "ethernet"
    protected: bool = False
    wrapper: tuple[str, ...] = ()  # around the program
    mpi: str = "openmpi"
    needs: str = "mpirun.openmpi"

    def available(self) -> bool:
        """Tell whether what it needs is installed."""
        return shutil.which(self.needs) is not None


PROTECTED = Way("UCX, protected", _UCX, protected=True)
MPICH = Way("MPICH over UCX, protected", (*_OVER_UCX, "mpirun.mpich"), protected=True,
            mpi="mpich", needs="mpirun.mpich")  # fmt: skip
NONE = Way("UCX, not protected", _UCX)
OPENIB = Way("openib with its own APM", _OPENIB, "infiniband")
TCP = Way("TCP", _TCP, "")
MPTCP = Way("TCP with MPTCP", (*_TCP, "--mca", "btl_tcp_if_include", "lan0"), "",
            wrapper=("sh", "-c", _ANNOUNCE), needs="mptcpize")  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """The outcome of a run: seconds are None where its result was wrong or missing.

    A result counts only if the launcher ended with status 0.
    """

    seconds: float | None
    result: str
    ended_s: float  # when its last output came, from the start of the launch
    wall_s: float  # when everything had ended, including the repair of the cable
    migrations: int
    last_words: str
    launch_s: float  # of the launcher itself, from its start to its end; wall_s if it was killed


@dataclass(frozen=True)
class Pull:
    """When the cable is pulled, from the start of the launcher, and for how long."""

    at_s: float
    for_s: float


def launch(  # noqa: PLR0913
    workspace: Workspace,
    way: Way,
    what: Application,
    limit_s: float,
    pull: Pull | None = None,
    *,
    ranks: int = 2,
) -> Ran:
    """Run on two hosts; a run that does not end within `limit_s` has failed."""
    folder = workspace.folder.resolve()
    report = workspace.fresh("protect.jsonl")
    took = workspace.fresh("launch.json")
    if what.prepare is not None:
        what.prepare(folder)
    protect = (
        [*_LANEWISE, "rdma", "protect", "--report", str(report), "--"] if way.protected else []
    )
    ports = ["--ports", "lan0,lan1", "--link-layer", way.link_layer]
    device = [*_LANEWISE, "rdma", "run", *ports, "--"] if way.link_layer else []
    line = [*_LANEWISE, "testbed", "run", "two-port", *script_of(folder, pull), "--",
            sys.executable, str(_TIMED), str(took), *way.launcher, "-n", str(ranks),
            *device, *protect, *way.wrapper, *what.words]  # fmt: skip
    begin_s = time.monotonic()
    heard = heard_of(line, _ROOT if os.getuid() == 0 else {}, limit_s, folder)
    wall_s = time.monotonic() - begin_s
    ended = _ended(took)
    judged = what.judge("".join(words for _, words in heard), folder)
    seconds, result = judged if judged is not None and ended.get("status") == 0 else (None, "")
    said = [(at_s, words.strip()) for at_s, words in heard if not words.startswith(_FAULT)]
    ended_s, last_words = next((one for one in reversed(said) if one[1]), (0.0, "nothing was said"))
    launch_s = float(ended.get("launch_s", wall_s))
    return Ran(seconds, result, ended_s, wall_s, _migrations(report), last_words, launch_s)


def scaled(
    workspace: Workspace,
    application: Callable[[int], Application],
    amount: int,
    wanted_s: float,
    ranks: int = 2,
) -> int:
    """Return how much of an application takes so long, by protected runs of `amount` and more."""
    while True:
        what = application(amount)
        workspace.say(f"{what.name}: how long it takes")
        took_s = good(launch(workspace, PROTECTED, what, TRIAL_LIMIT_S, ranks=ranks), what.name)
        if took_s >= wanted_s / 5:  # start-up is a small share by then
            return round(amount * wanted_s / took_s)
        amount = round(amount * max(2, wanted_s / 3 / took_s))


def pull_into(whole: Ran, for_s: float) -> Pull:
    """Return a pull a third into the work, judged by a run without one."""
    working_s = whole.seconds or 0.0
    return Pull(at_s=max(1.0, whole.launch_s - 2 * working_s / 3), for_s=for_s)


def good(done: Ran, what: str, like: Ran | None = None) -> float:
    """Return the time of a run; RunError where its result is not right."""
    if done.seconds is None:
        raise RunError(f"{what} was not verified: {done.last_words}")
    if like is not None and done.result != like.result:
        raise RunError(f"{what} ended with {done.result} and not with {like.result}")
    return done.seconds


def script_of(folder: Path, pull: Pull | None) -> list[str]:
    """Return the options that let a script pull the cable."""
    if pull is None:
        return []
    path = folder / "cut.toml"
    lasts = "" if pull.for_s == FOR_EVER_S else f'for = "{pull.for_s:g} s"\n'
    path.write_text(
        f'[[fault]]\nat = "{pull.at_s:g} s"\ncut = "{CABLE}"\n{lasts}', encoding="utf-8"
    )
    return ["--faults", str(path)]


# The testbed lives on to repair what it has cut, so the time of each line is kept.
def heard_of(
    line: Sequence[str], variables: Mapping[str, str], limit_s: float, folder: Path
) -> list[tuple[float, str]]:
    """Run a command for so long at most, and return the lines that it says with their times."""
    begin_s = time.monotonic()
    heard: list[tuple[float, str]] = []
    with started(
        line,
        variables,
        folder=folder,
        streams=(subprocess.PIPE, subprocess.STDOUT),
        grace_s=TESTBED_GRACE_S,
    ) as process:
        assert process.stdout is not None
        stop = threading.Timer(limit_s, process.terminate)  # the testbed ends with it
        stop.daemon = True
        stop.start()
        try:
            heard.extend((time.monotonic() - begin_s, words) for words in process.stdout)
            process.wait()
        finally:
            stop.cancel()
    if time.monotonic() - begin_s >= limit_s:
        heard.append((limit_s, f"it had not ended after {limit_s:g} s\n"))
    return heard


def _ended(took: Path) -> dict[str, Any]:
    """Return what timed_launch.py wrote; nothing where it was killed."""
    if not took.is_file():
        return {}
    return dict(json.loads(took.read_text(encoding="utf-8")))


def _migrations(report: Path) -> int:
    if not report.is_file():
        return 0
    lines = report.read_text(encoding="utf-8").splitlines()
    return sum(int(json.loads(line)["migrations"]) for line in lines)
