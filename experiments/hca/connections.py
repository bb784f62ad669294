# SPDX-License-Identifier: BSD-3-Clause
"""Clients of the connection manager: programs that find each other by it, and how each fares.

A client passes when the caller ends with status 0 and prints what it should, and so does the
listener, where it ends by itself.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.experiment import Estimator, Experiment, Figure, Outcome, Row, Target
from experiments.hca.hosts import ADDRESS, LISTENER, Hosts, Said
from experiments.native import compiled
from experiments.session import run_in_session
from experiments.stopping import stop
from experiments.workspace import Workspace, failing_as_run
from lanewise.errors import RunError
from lanewise.launch.packages import not_found
from lanewise.plots import Bar, draw_bars
from lanewise.testbed import bed, shipped

TCP, UDP = 0x0106, 0x0111  # port spaces of rdma_cm(7)
GROUP = "239.1.2.3"
_GROUP_SOCKET = "030201EF:12B7"  # the group and port 4791, as /proc/net/udp writes them
_CALLER_ADDRESS = "10.1.0.2"
ROOT = Path(__file__).parents[2]
KERNEL_TEST = ROOT / "tests" / "hca" / "kernel_test.py"
KERNEL_DIRECTIONS = 2
EMULATOR = "qemu-system-x86_64"
UCP_SOCKADDR = Path(__file__).with_name("ucp_sockaddr.c")


def service_sign(space: int, port: int) -> tuple[str, str]:
    """Return the file that says who listens, and what it says of a listener."""
    return "/proc/net/unix", f"@lanewise-hca/service/{space << 16 | port:x}/"


def _tcp(port: int) -> tuple[str, str]:
    return "/proc/net/tcp", f":{port:04X} {0:08X}:0000 0A"


def _tcp6(port: int) -> tuple[str, str]:
    return "/proc/net/tcp6", f":{port:04X} {0:032X}:0000 0A"


@dataclass(frozen=True)
class Client:
    """A program with two ends; `{address}` in the caller's words is where the listener is."""

    name: str
    package: str
    listener: tuple[str, ...]
    caller: tuple[str, ...]
    sign: tuple[str, str]  # of the listener: a file of its host, and a text in it
    shows: str
    ends: bool = True  # the listener ends by itself, with status 0
    variables: Mapping[str, str] = field(default_factory=dict)
    source: Path | None = None  # of `{program}`, which is linked with UCX

    @property
    def is_missing(self) -> bool:
        """Tell whether the program, or what it is built with, is not on this machine."""
        return shutil.which("cc" if self.source else self.caller[0]) is None

    def filled(self, words: Sequence[str], program: str) -> Sequence[str]:
        """Return the words of one end."""
        return [word.format(address=ADDRESS, program=program) for word in words]


def _sample(
    name: str, *words: str, port: int = 7471, space: int = TCP, shows: str, ends: bool = True
) -> Client:
    """Return a sample program of librdmacm, which is told the address by `-s`."""
    program = name.split(maxsplit=1)[0]
    return Client(
        name, "rdmacm-utils", (program, *words), (program, *words, "-s", "{address}"),
        service_sign(space, port), shows, ends,
    )  # fmt: skip


def _perftest(program: str, *more: str) -> Client:
    words = (f"ib_{program}", "-R", "-x", "0", "-F", "-n", "200", *more)
    name = " ".join((f"ib_{program} -R", *more))
    sign = service_sign(TCP, 18515)
    return Client(name, "perftest", words, (*words, "{address}"), sign, "#bytes")


CLIENTS: tuple[Client, ...] = (
    Client(
        "rping", "rdmacm-utils", ("rping", "-s", "-a", ADDRESS, "-C", "20", "-S", "2000"),
        ("rping", "-c", "-a", "{address}", "-C", "20", "-S", "2000", "-v", "-V"),
        service_sign(TCP, 7174), "ping data: rdma-ping-19", ends=False,
    ),
    _sample("udaddy", port=7174, space=UDP, shows="return status 0"),
    _sample("ucmatose", shows="return status 0"),
    _sample("ucmatose of 20 connections", "-c", "20", "-C", "50", shows="return status 0"),
    Client(
        "rdma_client", "rdmacm-utils", ("rdma_server",), ("rdma_client", "-s", "{address}"),
        service_sign(TCP, 7471), "end 0",
    ),
    Client(
        "mckey", "rdmacm-utils", ("mckey", "-m", GROUP, "-b", ADDRESS),
        ("mckey", "-m", GROUP, "-b", _CALLER_ADDRESS, "-s"),
        ("/proc/net/udp", _GROUP_SOCKET), "return status 0",
    ),
    _perftest("send_lat"),
    _perftest("send_bw"),
    _perftest("write_bw"),
    _perftest("read_lat"),
    _perftest("send_lat", "-c", "UD"),
    _sample("rstream", "-S", "65536", "-C", "50", shows="64k"),
    _sample("riostream", "-S", "65536", "-C", "50", shows="64k"),
    Client(
        "qperf rc", "qperf", ("qperf",),
        ("qperf", "-cm", "1", "-t", "1", "-mt", "1K", "{address}", "rc_lat", "rc_bw", "quit"),
        _tcp6(19765), "rc_bw:", ends=False,
    ),
    Client(
        "fi_pingpong -p verbs", "libfabric-bin", ("fi_pingpong", "-p", "verbs", "-e", "msg"),
        ("fi_pingpong", "-p", "verbs", "-e", "msg", "{address}"), _tcp(47592), "1m",
    ),
    Client(
        "UCX by rdmacm", "libucx-dev", ("{program}", "13340"), ("{program}", "13340", "{address}"),
        service_sign(TCP, 13340), "all right", source=UCP_SOCKADDR, variables={
            "UCX_TLS": "rc_verbs,rdmacm", "UCX_NET_DEVICES": "lanewise0:1",
            "UCX_SOCKADDR_TLS_PRIORITY": "rdmacm",
        },
    ),
)  # fmt: skip


def await_listener(hosts: Hosts, started: subprocess.Popen[str], sign: tuple[str, str]) -> None:
    """Wait until the listener shows itself, or has ended."""
    file, text = sign
    show = hosts.bed.line(LISTENER, ["cat", file])
    until_s = time.monotonic() + hosts.limit_s
    while started.poll() is None and time.monotonic() < until_s:
        if text in subprocess.run(show, capture_output=True, text=True, check=False).stdout:
            return


def pair(hosts: Hosts, client: Client, program: str = "") -> Said:
    """Run both ends of a client."""
    here = replace(hosts, variables={**hosts.variables, **client.variables})
    listening = here.start(LISTENER, client.filled(client.listener, program))
    await_listener(here, listening, client.sign)
    calling = here.run(here.caller, client.filled(client.caller, program))
    if calling.returncode != 0 or not client.ends:
        stop(listening)
    text, _ = listening.communicate()
    return Said(text, calling.stdout, (listening.returncode, calling.returncode))


def try_client(hosts: Hosts, client: Client) -> str:
    """Run a client; return why it failed, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        if client.source:
            try:
                compiled("cc", client.source, program, "-O1", "-lucp", "-lucs")
            except RunError as error:
                return "\n".join([*error.details, str(error)])
        said = pair(hosts, client, str(program))
    good = said.good if client.ends else said.statuses[1] == 0
    return "" if good and client.shows in said.caller else str(said)


def run(workspace: Workspace) -> Outcome:
    """Run every client and count those that passed."""
    found: dict[str, str] = {}
    with failing_as_run(), bed.created(shipped.find("two-port")) as raised:
        hosts = Hosts(raised)
        for client in CLIENTS:
            workspace.say(client.name)
            found[client.name] = (
                f"install {client.package}" if client.is_missing else try_client(hosts, client)
            )
    workspace.say("the connection manager of a Linux kernel")
    kernel = try_kernel()
    failed = {name: why for name, why in found.items() if why}
    return Outcome(
        figures={
            "clients": len(found),
            "clients_passed": len(found) - len(failed),
            "clients_failed": len(failed),
            "kernel_interoperates": int(not kernel),
        },
        rows=[Row(name, "-", "fail" if why else "pass") for name, why in found.items()],
        conditions={
            "clients": {name: why.strip()[-200:] or "pass" for name, why in found.items()},
            "against_a_kernel": kernel.strip()[-200:] or "pass",
        },
        files=draw(workspace, len(found) - len(failed), len(failed)),
        notes=[
            f"{name}: {why.strip().splitlines()[-1]}"
            for name, why in {**failed, **({"kernel": kernel} if kernel else {})}.items()
        ],
    )


def try_kernel() -> str:
    """Run rping against rdma_rxe in both directions, as make test-all does; return why not."""
    if shutil.which(EMULATOR) is None:
        return not_found(EMULATOR)
    words = ["-q", "-p", "no:cacheprovider", "-k", "connection_manager", str(KERNEL_TEST)]
    line = [sys.executable, "-m", "pytest", *words]
    run = run_in_session(line, {"LANEWISE_TEST_KERNEL": "1"}, folder=ROOT)
    good = run.status == 0 and f"{KERNEL_DIRECTIONS} passed" in run.output
    return "" if good else run.output + run.complaints


def draw(workspace: Workspace, passed: int, failed: int) -> list[Path]:
    """Draw how many passed and failed."""
    bars = [Bar("passed", passed, "passed"), Bar("failed", failed, "failed")]
    panel = ("Clients of the connection manager", bars)
    return workspace.save(draw_bars([panel], lambda value: f"{value:.0f}"), "hca-cm")


_KERNEL = Estimator("1 where both directions work", 1, KERNEL_DIRECTIONS, "runs of rping")
_ONCE = Estimator("number of clients", 1, 1, "run of each client")

EXPERIMENT = Experiment(
    name="hca-cm",
    paper="003 §2",
    summary="programs that use the connection manager, on the software device of two hosts",
    run=run,
    figures=(
        Figure("clients_failed", "clients", _ONCE, Target("<=", 0)),
        Figure("kernel_interoperates", "of 1", _KERNEL, Target(">=", 1)),
        Figure("clients_passed", "clients", _ONCE, "none may fail, so this is their number"),
        Figure("clients", "clients", _ONCE, "it says how many were tried"),
    ),
)
