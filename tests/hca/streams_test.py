# SPDX-License-Identifier: BSD-3-Clause
"""Streams: what rsocket(7) promises, also where a stream breaks or a reader is late."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.hosts import LISTENER, Hosts

PROMISES = {
    "accept": "only a stream that listens accepts",
    "unmapped": "a write to what is not mapped is refused",
    "many": "two ends that send many small messages before they read get along",
    "late": "a stream is closed before its reader has read all, and nothing is lost",
    "killed": "a peer that was killed is missed with SO_KEEPALIVE",
    "unknown": "options, shutdowns and descriptors that are not there are refused",
    "select": "a wait for descriptors is as long as was asked for",
    "unclosed": "who ends without closing a stream has sent everything nevertheless",
    "unread": "who ends without closing a stream has sent everything to a late reader, too",
}


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Compile the program that tries what is promised."""
    return compiled("streams", tmp_path, "rdmacm")


@pytest.mark.parametrize("promise", PROMISES, ids=PROMISES.values())
def test_what_the_manual_of_streams_promises_is_kept(
    hosts: Hosts, program: str, promise: str
) -> None:
    over_loopback = Hosts(hosts.bed, ["--ports", "lo"])
    done = over_loopback.run(LISTENER, [program, promise])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "fault",
    [
        'completion = "send"\nstatus = "IBV_WC_WR_FLUSH_ERR"',
        'completion = "receive"\nstatus = "IBV_WC_WR_FLUSH_ERR"',
        'packet = "send"\naction = "device_fatal"',
    ],
    ids=["flushed sends", "flushed receives", "a dead device"],
)
def test_a_stream_with_a_hole_is_reset_at_both_ends(
    hosts: Hosts, program: str, tmp_path: Path, fault: str
) -> None:
    script = tmp_path / "faults.toml"
    script.write_text(f"[[fault]]\n{fault}\nafter = 10\ntimes = 1\n")
    options = ["--ports", "lo", "--faults", str(script)]
    done = Hosts(hosts.bed, options).run(LISTENER, [program, "broken"])
    assert done.returncode == 0, done.stdout
