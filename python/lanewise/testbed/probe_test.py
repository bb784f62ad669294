# SPDX-License-Identifier: BSD-3-Clause
"""Probes measure what passes between two processes."""

import json
import socket
import subprocess
import sys
import time

import pytest

from lanewise.testbed import probe

# All probes of a machine have one port.
pytestmark = pytest.mark.xdist_group("probe")

RATE_BITS_PER_S = 1e6


def start(*words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "lanewise.testbed.probe", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_probe_tells_a_time_on_the_way_for_each_packet() -> None:
    with start("stamp", 5) as receiver:
        assert receiver.stdout is not None
        assert json.loads(receiver.stdout.readline()) == {"ready": True}
        probe.probe("127.0.0.1", 5)
        answer = json.loads(receiver.stdout.readline())

    assert len(answer["delays_ns"]) == 5
    assert all(delay_ns > 0 for delay_ns in answer["delays_ns"])


def test_a_drain_counts_what_is_poured_in_after_the_warm_up() -> None:
    with start("drain", 2, 0.1) as receiver:
        assert receiver.stdout is not None
        assert json.loads(receiver.stdout.readline()) == {"ready": True}
        with start("pour", "127.0.0.1", 2) as sender:
            answer = json.loads(receiver.stdout.readline())

    assert answer["received_bytes"] > 0
    assert answer["elapsed_s"] >= 0.1
    assert sender.returncode == 0


def test_a_flood_sends_packets_that_fit_the_link_at_the_rate_that_is_asked_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", probe.PORT))
        receiver.settimeout(20)
        begin_s = time.monotonic()
        with start("flood", "127.0.0.1", RATE_BITS_PER_S) as sender:
            try:
                sizes = {len(receiver.recv(1 << 16)) for _ in range(80)}
            finally:
                sender.kill()
        took_s = time.monotonic() - begin_s

    assert sizes == {probe.PACKET_BYTES}
    # Forty leave at once, and the next as soon as the rate allows; nothing makes that sooner.
    assert took_s >= 40 * probe.PACKET_BYTES * 8 / RATE_BITS_PER_S
