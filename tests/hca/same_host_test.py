# SPDX-License-Identifier: BSD-3-Clause
"""Two processes of one host: their packets go through memory, under the same rules as over UDP."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from experiments.hca.hosts import ADDRESS, LISTENER, Hosts

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
