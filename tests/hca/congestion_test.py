# SPDX-License-Identifier: BSD-3-Clause
"""A network that marks packets: who is told, who slows down, and what that is good for."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, Hosts
from lanewise import rdma
from lanewise.launch.run import end

LIMIT_S = 60.0
SECONDS = 6
RATE_MBITS = 200
WRITES = ["ib_write_bw", "-x", "0", "-F", "-s", "65536"]
MARKED = """
[[fault]]
packet = "any"
action = "mark"
"""
# Two hosts send to two others over one link, whose queue could hold 80 ms.
NARROW = f"""
[[site]]
name = "a"
hosts = 3
lan = {{ rate = "10 Gbit/s" }}

[[site]]
name = "b"
hosts = 3
lan = {{ rate = "10 Gbit/s" }}

[[link]]
between = ["a", "b"]
rate = "{RATE_MBITS} Mbit/s"
delay = "0.2 ms"
queue = "2 MB"
mark = "40 kB"
"""


def needed(program: str, package: str) -> None:
    """Skip the test where a program is missing."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here; install {package}")


def counters_of(devices: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the counters of the first port of the only device."""
    (device,) = devices
    return dict(device["ports"][0]["counters"])


def test_a_script_marks_packets_and_both_ends_count_what_follows(hosts: Hosts) -> None:
    needed("ib_write_bw", "perftest")
    words = [*WRITES, "-D", "2"]
    on = rdma.Hosts(hosts.bed)
    with rdma.start(words, hosts=on, at=LISTENER, ports=["lan0"], faults=MARKED) as server:
        server.wait_until_listening(18515)
        with rdma.start([*words, ADDRESS], hosts=on, at=CALLER, ports=["lan0"]) as client:
            receiver, sender = two_counters(on, "np_cnp_sent", "rp_cnp_handled")
            assert client.wait(LIMIT_S).status == 0
        assert server.wait(LIMIT_S).status == 0
    assert receiver["np_ecn_marked_roce_packets"] > receiver["np_cnp_sent"] > 0
    assert sender["rp_cnp_handled"] > 0


def two_counters(on: rdma.Hosts, of_listener: str, of_caller: str) -> list[dict[str, int]]:
    """Return the counters of both ends as soon as each has counted something."""
    found: list[dict[str, int]] = []
    for host, name in ((LISTENER, of_listener), (CALLER, of_caller)):
        for _ in range(200):
            devices = on.status(host)
            if devices and counters_of(devices)[name] > 0:
                found.append(counters_of(devices))
                break
        else:
            pytest.fail(f"{host} has counted no {name}")
    return found


def test_packets_have_the_class_of_service_that_the_program_asks_for(
    hosts: Hosts, tmp_path: Path
) -> None:
    needed("ib_send_lat", "perftest")
    needed("tshark", "tshark")
    on = rdma.Hosts(hosts.bed)
    words = ["ib_send_lat", "-x", "0", "-F", "-n", "50", f"--tclass={26 << 2}"]
    file = tmp_path / "packets.pcap"
    with rdma.start(words, hosts=on, at=LISTENER, ports=["lan0"], pcap=str(file)) as server:
        server.wait_until_it_can_be_called()
        client = rdma.run([*words, ADDRESS], hosts=on, at=CALLER, ports=["lan0"], timeout_s=LIMIT_S)
        assert (client.status, server.wait(LIMIT_S).status) == (0, 0), client.stderr
    shown = subprocess.run(
        ["tshark", "-r", str(file), "-Y", "infiniband.bth.opcode == 4", "-T", "fields",
         "-e", "ip.src", "-e", "ip.dsfield.dscp", "-e", "ip.dsfield.ecn"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    classes = {line.partition("\t")[0]: line.partition("\t")[2] for line in shown.splitlines()}
    assert classes == {"10.1.0.1": "26\t2", "10.1.0.2": "26\t2"}


ECHO = """
import socket
echoes = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echoes.bind(("", 7000))
while True:
    echoes.sendto(*echoes.recvfrom(64))
"""
# Prints how long each of so many datagrams was on its way there and back, in milliseconds.
ASK = """
import socket, sys, time
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asks.connect((sys.argv[1], 7000))
asks.settimeout(2)
for _ in range(int(sys.argv[2])):
    at = time.monotonic()
    asks.send(b"echo")
    try:
        asks.recv(64)
    except TimeoutError:
        continue
    print(1000 * (time.monotonic() - at))
    time.sleep(0.02)
"""


@dataclass(frozen=True)
class Shared:
    """How two senders shared the link, and how long packets waited for it."""

    mbits: tuple[float, float]
    waits_ms: float

    @property
    def fairness(self) -> float:
        """Return Jain's index: 1 if both had the same, 0.5 if one had all."""
        return sum(self.mbits) ** 2 / (2 * sum(one**2 for one in self.mbits))


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rdma.Hosts]:
    file = tmp_path_factory.mktemp("narrow") / "narrow.toml"
    file.write_text(NARROW)
    with rdma.testbed(file) as hosts:
        yield hosts


def share(narrow: rdma.Hosts, congestion: str) -> Shared:
    """Let two hosts write to two others at once, while a third asks for echoes."""
    words = [*WRITES, "-D", str(SECONDS), "--report_gbits"]
    options: dict[str, Any] = {"hosts": narrow, "ports": ["lan0"], "congestion": congestion}
    with ExitStack() as running:
        servers = [
            running.enter_context(rdma.start(words, at=at, **options)) for at in ("b1", "b2")
        ]
        for server in servers:
            server.wait_until_listening(18515)
        clients = [
            running.enter_context(rdma.start([*words, address], at=at, **options))
            for at, address in (("a1", "10.2.0.1"), ("a2", "10.2.0.2"))
        ]
        echo = narrow.bed.line("b3", [sys.executable, "-c", ECHO])
        running.callback(end, subprocess.Popen(echo, start_new_session=True, text=True))
        time.sleep(SECONDS / 4)  # until both have found their rates
        ask = [sys.executable, "-c", ASK, "10.2.0.3", str(10 * SECONDS)]
        asked = subprocess.run(
            narrow.bed.line("a3", ask), capture_output=True, text=True, check=True
        ).stdout
        ended = [client.wait(LIMIT_S) for client in clients]
    assert [one.status for one in ended] == [0, 0], ended
    waits_ms = [float(line) for line in asked.split()]
    rates = [re.findall(r"^ 65536 +\d+ +[0-9.]+ +([0-9.]+)", one.stdout, re.M) for one in ended]
    first, other = (1000 * float(one[0]) for one in rates)
    return Shared((first, other), statistics.median(waits_ms))


@pytest.mark.xdist_group("alone")
def test_two_senders_share_a_link_that_marks_and_its_queue_stays_short(narrow: rdma.Hosts) -> None:
    needed("ib_write_bw", "perftest")
    without = share(narrow, "none")
    with_marks = share(narrow, "dcqcn")
    said = json.dumps({"none": without.__dict__, "dcqcn": with_marks.__dict__})

    assert with_marks.waits_ms < without.waits_ms / 2, said
    assert with_marks.fairness > 0.9, said
    assert sum(with_marks.mbits) > RATE_MBITS / 4, said
