# SPDX-License-Identifier: BSD-3-Clause
"""UCX and Open MPI between two joined hosts: each run takes the transport that it is told."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.hca.hosts import CALLER, Hosts
from experiments.hca.speed import joined_hosts
from experiments.hca.ucx import DEVICE, TCP, built, latency, mpi

MTU_BYTES = 1500
MESSAGES = 2000
CALLS = 500


@pytest.fixture(scope="module")
def joined() -> Iterator[Hosts]:
    """Join two hosts by a pair of interfaces."""
    with joined_hosts(MTU_BYTES) as hosts:
        yield hosts


def datagrams(hosts: Hosts) -> int:
    """Return how many UDP datagrams the caller's host has sent."""
    words = ["cat", "/proc/net/snmp"]
    done = subprocess.run(
        hosts.bed.line(CALLER, words), capture_output=True, text=True, check=True
    )  # fmt: skip
    names, values = (line.split() for line in done.stdout.splitlines() if line.startswith("Udp:"))
    return int(values[names.index("OutDatagrams")])


def test_hosts_are_joined_at_the_mtu_that_is_wanted(joined: Hosts) -> None:
    shown = joined.bed.line(CALLER, ["ip", "-o", "link", "show", "fast0"])
    text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout

    assert f"mtu {MTU_BYTES}" in text


def test_ucx_sends_datagrams_on_the_device_and_none_over_tcp(joined: Hosts) -> None:
    if shutil.which("ucx_perftest") is None:
        pytest.skip("no ucx_perftest here; install ucx-utils")
    before = datagrams(joined)
    over_tcp = latency(joined, TCP, MESSAGES)
    between = datagrams(joined)
    on_device = latency(joined, DEVICE, MESSAGES)

    assert between - before < MESSAGES / 2
    assert datagrams(joined) - between > MESSAGES / 2
    assert min(over_tcp["latency_us"], on_device["latency_us"]) > 0


def test_open_mpi_sends_datagrams_on_the_device_and_none_over_tcp(
    joined: Hosts, tmp_path: Path
) -> None:
    if shutil.which("mpicc.openmpi") is None:
        pytest.skip("no mpicc.openmpi here; install libopenmpi-dev")
    program = built(tmp_path)
    before = datagrams(joined)
    over_tcp = mpi(joined, TCP, program, CALLS)
    between = datagrams(joined)
    on_device = mpi(joined, DEVICE, program, CALLS)

    assert between - before < CALLS / 2
    assert datagrams(joined) - between > CALLS / 2
    assert set(over_tcp) == set(on_device) == {"mpi_latency_us", "allreduce_64KiB_us"}
    assert min(*over_tcp.values(), *on_device.values()) > 0
