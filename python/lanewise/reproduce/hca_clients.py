# SPDX-License-Identifier: BSD-3-Clause
"""Hca clients: real verbs programs on the software device of two hosts, and how each fares.

A client is good when both its ends end well and it shows what it should; where the program can
look at the data that came, it does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lanewise.reproduce.experiment import Experiment, Outcome, Row, Target
from lanewise.reproduce.hca_hosts import ADDRESS, LISTENER, Hosts
from lanewise.reproduce.workspace import Workspace, failing_as_run
from lanewise.testbed import bed, shipped

QPERF_PORT, UCX_PORT = 19765, 13337
EXCHANGE = Path(__file__).with_name("hca_exchange.c")
_DEVICE = ("-d", "lanewise0")
_MPI_LIMIT_S = 120


@dataclass(frozen=True)
class Client:
    """A program with two ends; `{address}` in the caller's words is where the listener is."""

    name: str
    package: str
    caller: tuple[str, ...]
    shows: str
    listener: tuple[str, ...] = ()
    port: int = 18515
    personality: str = "ethernet"
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def listening(self) -> Sequence[str]:
        """Return the listener's words: those of the caller without the address."""
        return self.listener or [word for word in self.caller if "{" not in word]

    @property
    def calling(self) -> Sequence[str]:
        """Return the caller's words."""
        return [word.format(address=ADDRESS) for word in self.caller]


def _pingpong(kind: str, *more: str) -> Client:
    words = (f"ibv_{kind}_pingpong", "-g", "0", "-n", "300", *more, "{address}")
    return Client(f"ibv_{kind}_pingpong", "ibverbs-utils", words, "300 iters")


def _perftest(program: str, *more: str) -> Client:
    words = (f"ib_{program}", "-x", "0", "-F", "-n", "200", *more, "{address}")
    return Client(" ".join((f"ib_{program}", *more)), "perftest", words, "#bytes")


def _qperf(name: str, *tests: str) -> Client:
    words = ("qperf", "-t", "1", "-mt", "1K", "{address}", *tests, "quit")
    return Client(
        f"qperf {name}", "qperf", words, f"{tests[-1]}:", ("qperf",), QPERF_PORT, "infiniband"
    )


def _ucx(transports: str, test: str, *more: str) -> Client:
    words = ("ucx_perftest", "-t", test, "-n", "300", "-w", "30", *more, "{address}")
    variables = {"UCX_TLS": transports, "UCX_NET_DEVICES": "lanewise0:1"}
    return Client(
        f"ucx_perftest {test} over {transports}", "ucx-utils", words, "Final:",
        ("ucx_perftest",), UCX_PORT, variables=variables,
    )  # fmt: skip


CLIENTS: tuple[Client, ...] = (
    _pingpong("rc", "-c"),
    _pingpong("uc", "-c"),
    _pingpong("ud", "-s", "1024"),
    _pingpong("srq", "-c"),
    _perftest("send_lat"),
    _perftest("send_lat", "-e"),
    _perftest("send_lat", "-c", "UC"),
    _perftest("send_lat", "-c", "UD"),
    _perftest("send_bw"),
    _perftest("send_bw", "-e"),
    _perftest("send_bw", "-c", "UD"),
    _perftest("write_lat"),
    _perftest("write_bw"),
    _perftest("write_bw", "-c", "UC"),
    _perftest("read_lat"),
    _perftest("read_bw"),
    _perftest("read_bw", "-e"),
    _perftest("atomic_lat"),
    _perftest("atomic_bw"),
    _qperf("rc", "rc_lat", "rc_rdma_read_lat", "rc_rdma_write_poll_lat"),
    _qperf("uc, ud", "uc_lat", "ud_lat"),
    _qperf("with an alternate path", "-ap", "2", "rc_bw"),
    _ucx("rc_verbs,ud_verbs", "tag_lat"),
    _ucx("rc_verbs,ud_verbs", "tag_bw", "-s", "65536"),
    _ucx("rc_verbs,ud_verbs", "ucp_get", "-s", "65536"),
    _ucx("ud_verbs", "tag_lat", "-s", "4096"),
)


@dataclass(frozen=True)
class Mpi:
    """An MPI and its way to the device."""

    name: str
    compiler: str
    launcher: tuple[str, ...]
    personality: str = "ethernet"


_UCX = ("UCX_TLS=rc_verbs,ud_verbs,self", "UCX_NET_DEVICES=lanewise0:1")
_ANY = ("--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any")
MPIS: tuple[Mpi, ...] = (
    Mpi("Open MPI through UCX", "mpicc.openmpi",
        ("env", *_UCX, "mpirun.openmpi", "-x", "UCX_TLS", "-x", "UCX_NET_DEVICES",
         "--mca", "pml", "ucx", "--mca", "osc", "ucx", *_ANY, "-n", "2")),
    Mpi("Open MPI through openib", "mpicc.openmpi",
        ("mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "openib,self",
         "--mca", "btl_openib_allow_ib", "1", "-n", "2"), "infiniband"),
    Mpi("MPICH through UCX", "mpicc.mpich", ("env", *_UCX, "mpirun.mpich", "-n", "2")),
)  # fmt: skip


def try_client(hosts: Hosts, client: Client) -> str:
    """Run a client; return why it is not good, empty where it is."""
    options = ["--ports", "lan0,lan1", "--personality", client.personality]
    here = replace(hosts, options=options, variables=client.variables)
    said = here.pair(client.listening, client.calling, client.port)
    return "" if said.good and client.shows in said.caller else str(said)


def try_mpi(mpi: Mpi, folder: Path) -> str:
    """Build a program with an MPI and run it on two hosts; return why it is not good."""
    program = folder / mpi.compiler
    built = subprocess.run(
        [mpi.compiler, "-O1", "-o", str(program), str(EXCHANGE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        return built.stderr
    lanewise = [sys.executable, "-m", "lanewise"]
    device = [*lanewise, "hca", "--ports", "lan0,lan1", "--personality", mpi.personality, "--"]
    words = [*lanewise, "testbed", "run", "two-port", "--", *mpi.launcher, *device, str(program)]
    run = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=_MPI_LIMIT_S
    )  # fmt: skip
    good = run.returncode == 0 and "all right" in run.stdout
    return "" if good else run.stdout + run.stderr


def results(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Run all that is installed; yield names, and why they failed or nothing."""
    with failing_as_run(), bed.raised(shipped.find("two-port")) as raised:
        for client in CLIENTS:
            workspace.say(client.name)
            missing = shutil.which(client.caller[0]) is None
            why = f"install {client.package}" if missing else try_client(Hosts(raised), client)
            yield client.name, why
        shown = Hosts(raised).run(LISTENER, ["ucx_info", "-d"]).stdout
        yield "ucx_info", "" if "Transport: rc_verbs" in shown else shown
    for mpi in MPIS:
        workspace.say(mpi.name)
        missing = shutil.which(mpi.compiler) is None
        yield mpi.name, f"no {mpi.compiler}" if missing else try_mpi(mpi, workspace.folder)


def run(workspace: Workspace) -> Outcome:
    """Try every client and tell how many passed."""
    found = dict(results(workspace))
    failed = {name: why for name, why in found.items() if why}
    return Outcome(
        figures={"clients": len(found), "passed": len(found) - len(failed), "failed": len(failed)},
        rows=[Row(name, "-", "fail" if why else "pass") for name, why in found.items()],
        conditions={"clients": {name: why.strip()[-200:] or "pass" for name, why in found.items()}},
        files=[],
        notes=[f"{name}: {why.strip().splitlines()[-1]}" for name, why in failed.items()],
    )


EXPERIMENT = Experiment(
    name="hca-clients",
    paper="003 §2",
    summary="verbs programs as they are, on the software device of two hosts",
    run=run,
    targets=(Target("failed", "<=", 0),),
)
