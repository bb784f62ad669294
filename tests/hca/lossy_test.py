# SPDX-License-Identifier: BSD-3-Clause
"""A link that loses packets, and the congestion control of TCP that is compared on it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.hca import lossy
from experiments.hca.hosts import ADDRESS, CALLER, Hosts
from lanewise.testbed import bed
from lanewise.testbed.bed import Source
from lanewise.testbed.show import state_of

# A socket has the congestion control of its route as soon as it begins to connect.
BEGIN_TO_CONNECT = f"""
import socket
begun = socket.socket()
begun.setblocking(False)
begun.connect_ex(("{ADDRESS}", 9))
print(begun.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
"""


@pytest.fixture(scope="module")
def link() -> Iterator[Hosts]:
    """Raise two hosts at the ends of a link that loses a packet in twenty."""
    with bed.created(Source(lossy.description("5 %"), "lossy", "lossy.toml")) as raised:
        yield Hosts(raised, ["--ports", "lan0"], caller=lossy.CALLER)


@pytest.mark.parametrize("name", [lossy.CUBIC, lossy.BBR, lossy.CUBIC])
def test_connections_of_the_caller_have_the_congestion_control_that_was_chosen(
    link: Hosts, name: str
) -> None:
    lossy.choose_congestion_control(link, name)

    line = link.bed.line(lossy.CALLER, [sys.executable, "-c", BEGIN_TO_CONNECT])
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert said.strip() == name


def test_a_program_that_ends_first_lets_its_peer_succeed_where_acknowledgements_are_lost(
    hosts: Hosts, tmp_path: Path
) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\npacket = "acknowledge"\naction = "lose"\ntimes = 3\n')
    losing = replace(hosts, options=[*hosts.options, "--faults", str(script)])
    # Of the last message of the listener, which the caller has when it ends.
    words = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "1"]
    listening = losing.listen(words, 18515)

    calling = hosts.run(CALLER, [*words, ADDRESS])

    said, _ = listening.communicate()
    assert (calling.returncode, listening.returncode) == (0, 0), calling.stdout + said


def test_the_link_has_the_loss_that_is_wanted(link: Hosts) -> None:
    (state,) = state_of(link.bed)["links"]

    assert state["settings"]["loss"] == 0.05
