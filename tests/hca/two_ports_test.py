# SPDX-License-Identifier: BSD-3-Clause
"""Real verbs programs on the software device of two hosts, and paths that migrate between ports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, SECOND_ADDRESS, Hosts

PROGRAMS = Path(__file__).with_name("programs")
MESSAGES = "200"


def needed(program: str, package: str) -> None:
    """Skip where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here; install {package}")


@pytest.fixture(scope="module")
def migrating(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the program whose queue pair has an alternate path."""
    return compiled("migrating", tmp_path_factory.mktemp("programs"))


def test_the_device_shows_two_active_ports(hosts: Hosts) -> None:
    needed("ibv_devinfo", "ibverbs-utils")
    shown = hosts.run(LISTENER, ["ibv_devinfo", "-v"]).stdout
    assert shown.count("PORT_ACTIVE (4)") == 2
    assert "AUTO_PATH_MIG" in shown
    assert "::ffff:10.1.1.1" in shown


@pytest.mark.parametrize("transport", ["rc", "uc", "ud", "srq"])
def test_pingpong_carries_what_it_sends(hosts: Hosts, transport: str) -> None:
    program = f"ibv_{transport}_pingpong"
    needed(program, "ibverbs-utils")
    words = [program, "-g", "0", "-n", "300", *(["-s", "1024"] if transport == "ud" else ["-c"])]
    said = hosts.pair(words, [*words, ADDRESS])
    assert said.good, said
    assert "300 iters" in said.caller


@pytest.mark.parametrize("transport", ["rc", "uc"])
def test_a_path_migrates_on_command_at_both_ends(
    hosts: Hosts, migrating: str, transport: str
) -> None:
    said = hosts.pair(
        [migrating, transport, "listen", ADDRESS, MESSAGES],
        [migrating, transport, "connect", ADDRESS, MESSAGES, "50"],
    )
    assert said.good, said
    for text in (said.listener, said.caller):
        assert text.splitlines()[-2:] == ["event path migrated", "port 2 migrated"]


@pytest.mark.parametrize("host", [LISTENER, CALLER])
def test_traffic_survives_a_cable_that_is_pulled(hosts: Hosts, migrating: str, host: str) -> None:
    def line(of: str, role: str) -> list[str]:
        own = ["until-port-error"] if of == host else []
        return [migrating, "rc", role, SECOND_ADDRESS, MESSAGES, *own]

    listener = hosts.listen(line(LISTENER, "listen"), 18515)
    caller = hosts.start(CALLER, line(CALLER, "connect"))
    assert caller.stdout is not None
    assert caller.stdout.readline() == "armed\n"
    hosts.pull(host, "lan0")
    try:
        texts = [caller.communicate()[0], listener.communicate()[0]]
    finally:
        hosts.plug(host, "lan0")
    assert (caller.returncode, listener.returncode) == (0, 0), texts
    for text in texts:
        assert text.count("event path migrated") == 1
        assert text.endswith("port 2 migrated\n")
    assert "event port error 1" in texts[host == LISTENER]


def test_many_processes_behind_one_address_get_their_own_packets(hosts: Hosts) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    words = ["ibv_rc_pingpong", "-g", "0", "-c"]
    ports = range(20000, 20006)
    # Every other pair is short: members leave the group while the others talk.
    counts = {port: "100" if port % 2 else "3000" for port in ports}
    listeners = [hosts.start(LISTENER, [*words, "-p", str(p), "-n", counts[p]]) for p in ports]
    for started, port in zip(listeners, ports, strict=True):
        hosts.await_listener(started, port)
    callers = [hosts.start(CALLER, [*words, "-p", str(p), "-n", counts[p], ADDRESS]) for p in ports]
    texts = [started.communicate()[0] for started in (*callers, *listeners)]
    assert [started.returncode for started in (*callers, *listeners)] == [0] * 12, texts
