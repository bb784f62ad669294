# SPDX-License-Identifier: BSD-3-Clause
"""Clients of the software device: verbs programs and MPIs on two hosts, and how each fares.

A client passes when both its ends exit with status 0 and print what they should; where the program
can check the data that it receives, it does.  All run on a clean network with two ports.  Those
that tolerate loss run again over a link that loses one packet in a hundred and reorders another;
programs over unreliable transports would wait forever for a lost packet.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.hca.hosts import ADDRESS, QPERF_PORT, UCX_PORT, Hosts
from experiments.hca.lossy import CALLER as LOSSY_CALLER
from experiments.hca.lossy import LOSS, REORDER, description, device_options
from experiments.hca.probes import PROBES
from experiments.native import compiled
from experiments.session import run_in_session
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed, shipped
from lanewise.testbed.bed import Source

LOSSY = description(LOSS)
EXCHANGE = Path(__file__).with_name("exchange.c")
_DEVICE = ("-d", "lanewise0")
_MPI_LIMIT_S = 120
SUFFIX_LOSSY = ", with loss"


@dataclass(frozen=True)
class Client:
    """A program with two ends; `{address}` in the caller's words is where the listener is."""

    name: str
    package: str
    caller: tuple[str, ...]
    shows: str
    listener: tuple[str, ...] = ()
    port: int = 18515
    link_layer: str = "ethernet"
    variables: Mapping[str, str] = field(default_factory=dict)
    bears_loss: bool = True  # its transport retransmits, and it needs only one port

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
    reliable = kind in ("rc", "srq")
    name = f"ibv_{kind}_pingpong"
    return Client(name, "ibverbs-utils", words, "300 iters", bears_loss=reliable)


def _perftest(program: str, *more: str) -> Client:
    words = (f"ib_{program}", "-x", "0", "-F", "-n", "200", *more, "{address}")
    name = " ".join((f"ib_{program}", *more))
    return Client(name, "perftest", words, "#bytes", bears_loss="-c" not in more)


def _qperf(name: str, *tests: str) -> Client:
    words = ("qperf", "-t", "1", "-mt", "1K", "{address}", *tests, "quit")
    return Client(
        f"qperf {name}", "qperf", words, f"{tests[-1]}:", ("qperf",), QPERF_PORT, "infiniband",
        bears_loss=name == "rc",
    )  # fmt: skip


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
    # Less than the socket of the receiver holds; the rest would be lost without notice.
    _perftest("send_bw", "-c", "UC", "-s", "4096"),
    _perftest("send_bw", "-c", "UD"),
    _perftest("write_lat"),
    _perftest("write_bw"),
    _perftest("write_bw", "-c", "UC"),
    _perftest("write_lat", "-c", "UC"),
    _perftest("read_lat"),
    _perftest("read_lat", "-e"),
    _perftest("read_bw"),
    _perftest("read_bw", "-e"),
    _perftest("atomic_lat"),
    _perftest("atomic_lat", "-e"),
    _perftest("atomic_bw"),
    _perftest("atomic_bw", "-e"),
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
    """An MPI, and the settings that make it use the device."""

    name: str
    compiler: str
    launcher: tuple[str, ...]
    link_layer: str = "ethernet"


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
    """Run a client; return why it failed, or an empty string."""
    options = [*hosts.options, "--link-layer", client.link_layer]
    here = replace(hosts, options=options, variables=client.variables)
    said = here.pair(client.listening, client.calling, client.port)
    return "" if said.good and client.shows in said.caller else str(said)


def try_mpi(mpi: Mpi, folder: Path, testbed: str, options: Sequence[str]) -> str:
    """Build a program with an MPI and run it on two hosts; return why it failed, if it did."""
    program = folder / mpi.compiler
    try:
        compiled(mpi.compiler, EXCHANGE, program, "-O1")
    except RunError as error:
        return "\n".join([*error.details, str(error)])
    lanewise = [sys.executable, "-m", "lanewise"]
    device = [*lanewise, "rdma", "run", *options, "--link-layer", mpi.link_layer, "--"]
    words = [*lanewise, "testbed", "run", testbed, "--", *mpi.launcher, *device, str(program)]
    try:
        run = run_in_session(words, limit_s=_MPI_LIMIT_S)
    except RunError as error:
        return f"{mpi.name}: {error}"
    good = run.status == 0 and "all right" in run.output
    return "" if good else run.output + run.complaints


def clean_results(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Run all on a clean network; yield each name with the reason for a failure, or ""."""
    with bed.created(shipped.find("two-port")) as raised:
        hosts = Hosts(raised)
        for probe in PROBES:
            workspace.say(probe.name)
            missing = not Path(probe.file).exists()
            yield probe.name, f"install {probe.package}" if missing else probe.why_not(hosts)
        yield from _of_clients(workspace, hosts, CLIENTS, "")
    yield from _of_mpis(workspace, "two-port", Hosts.options, "")


def lossy_results(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Run those that tolerate loss over a lossy link; yield the same."""
    options = device_options(workspace.folder)
    with bed.created(Source(LOSSY, "lossy", "lossy.toml")) as raised:
        hosts = Hosts(raised, options, caller=LOSSY_CALLER)
        bearing = [client for client in CLIENTS if client.bears_loss]
        yield from _of_clients(workspace, hosts, bearing, SUFFIX_LOSSY)
    file = workspace.folder / "lossy.toml"
    file.write_text(LOSSY, encoding="utf-8")
    yield from _of_mpis(workspace, str(file), options, SUFFIX_LOSSY)


def _of_clients(
    workspace: Workspace, hosts: Hosts, clients: Sequence[Client], suffix: str
) -> Iterator[tuple[str, str]]:
    for client in clients:
        workspace.say(client.name + suffix)
        missing = shutil.which(client.caller[0]) is None
        why = f"install {client.package}" if missing else try_client(hosts, client)
        yield client.name + suffix, why


def _of_mpis(
    workspace: Workspace, testbed: str, options: Sequence[str], suffix: str
) -> Iterator[tuple[str, str]]:
    for mpi in MPIS:
        workspace.say(mpi.name + suffix)
        missing = shutil.which(mpi.compiler) is None
        why = f"no {mpi.compiler}" if missing else try_mpi(mpi, workspace.folder, testbed, options)
        yield mpi.name + suffix, why


def run(workspace: Workspace) -> Outcome:
    """Run every client and count those that passed."""
    with failing_as_run():
        found = dict([*clean_results(workspace), *lossy_results(workspace)])
    failed = {name: why for name, why in found.items() if why}
    return Outcome(
        figures={"clients": len(found), "passed": len(found) - len(failed), "failed": len(failed)},
        rows=[Row(name, "-", "fail" if why else "pass") for name, why in found.items()],
        conditions={
            "loss": LOSS,
            "reorder": REORDER,
            "clients": {name: why.strip()[-200:] or "pass" for name, why in found.items()},
        },
        files=draw(workspace, found),
        notes=[f"{name}: {why.strip().splitlines()[-1]}" for name, why in failed.items()],
    )


def draw(workspace: Workspace, found: Mapping[str, str]) -> list[Path]:
    """Draw how many passed and failed on each network."""
    panels = []
    for title, lossy in (("Clean network, two ports", False), ("Link with loss", True)):
        whys = [why for name, why in found.items() if name.endswith(SUFFIX_LOSSY) == lossy]
        failed = sum(bool(why) for why in whys)
        bars = [Bar("passed", len(whys) - failed, "passed"), Bar("failed", failed, "failed")]
        panels.append((title, bars))
    return workspace.save(draw_bars(panels, lambda value: f"{value:.0f}"), "hca-clients")


_ONCE = Estimator("number of clients", 1, 1, "run of each client")

EXPERIMENT = Experiment(
    name="hca-clients",
    paper="003 §2",
    summary="unmodified verbs programs on the software device of two hosts",
    run=run,
    figures=(
        Figure("failed", "clients", _ONCE, Target("<=", 0)),
        Figure("passed", "clients", _ONCE, "none may fail, so this is the number of clients"),
        Figure("clients", "clients", _ONCE, "it says how many were tried"),
    ),
)
