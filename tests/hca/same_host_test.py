# SPDX-License-Identifier: BSD-3-Clause
"""Two processes of one host: their packets go through memory, under the same rules as over UDP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from experiments.hca.hosts import ADDRESS, LIMIT_S, LISTENER, Hosts
from experiments.stopping import stop

ITERATIONS = 5000
PINGPONG = ["ibv_rc_pingpong", "-g", "0"]


@pytest.fixture(autouse=True)
def needs_pingpong() -> None:
    """Skip where the program is not installed."""
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")


def loopback_packets(hosts: Hosts) -> int:
    """Return how many packets the listener's host has sent to itself."""
    table = subprocess.run(
        hosts.bed.line(LISTENER, ["cat", "/proc/net/dev"]),
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    row = next(line for line in table.splitlines() if line.strip().startswith("lo:"))
    return int(row.partition(":")[2].split()[9])


def packets_between(hosts: Hosts, **variables: str) -> int:
    """Run a checked ping-pong on one host; return how many packets went through the kernel."""
    words = [*PINGPONG, "-c", "-n", str(ITERATIONS)]
    before = loopback_packets(hosts)
    here = replace(hosts, caller=LISTENER, variables=variables)
    said = here.pair(words, [*words, ADDRESS])
    assert said.good, said
    return loopback_packets(hosts) - before


def test_packets_of_one_host_go_through_memory(hosts: Hosts) -> None:
    assert packets_between(hosts) < ITERATIONS / 2


def test_packets_of_one_host_go_over_udp_where_told(hosts: Hosts) -> None:
    assert packets_between(hosts, LANEWISE_HCA_SHARED_MEMORY="0") > ITERATIONS


def sent(hosts: Hosts) -> int:
    """Return how many packets the devices of the host have sent."""
    line = hosts.bed.line(LISTENER, [sys.executable, "-m", "lanewise", "rdma", "status", "--json"])
    devices = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)["devices"]
    return sum(port["counters"]["packets_sent"] for one in devices for port in one["ports"])


def test_a_process_whose_peer_is_killed_gives_up_after_its_retries(hosts: Hosts) -> None:
    # A ping-pong may be killed between an acknowledgement and an answer, for which its peer would
    # wait for ever; who writes all the time always waits for an acknowledgement.
    words = ["ib_write_bw", "-x", "0", "-F", "-s", "65536", "-D", "50"]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here; install perftest")
    listening = hosts.listen(words, 18515)
    calling = hosts.start(LISTENER, [*words, ADDRESS])
    until_s = time.monotonic() + LIMIT_S
    while sent(hosts) < 5000 and time.monotonic() < until_s:
        pass
    stop(listening, signal.SIGKILL)
    listening.communicate()
    said, _ = calling.communicate()
    assert "Failed status 12" in said, said


# Prints what a server has used of a processor, in user and system mode, as its client has ended and
# a second later. The client comes again until the server listens.
LEFT_ALONE = f"""
rping -s -P -a {ADDRESS} >/dev/null 2>&1 & server=$!
until rping -c -a {ADDRESS} -C 300 >/dev/null 2>&1; do kill -0 $server || exit 1; done
for moment in before after; do cut -d" " -f14,15 /proc/$server/stat; sleep 1; done
kill $server
"""


def test_a_server_sleeps_when_its_client_of_the_same_host_has_ended(hosts: Hosts) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    said = hosts.run(LISTENER, ["sh", "-c", LEFT_ALONE])
    assert said.returncode == 0, said.stdout
    before, after = (sum(map(int, line.split())) for line in said.stdout.splitlines())
    assert (after - before) / os.sysconf("SC_CLK_TCK") < 0.1
