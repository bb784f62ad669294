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
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.hosts import ADDRESS, LIMIT_S, LISTENER, SECOND_ADDRESS, Hosts
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


def await_sent(hosts: Hosts, packets: int) -> None:
    """Wait until the devices of the host have sent so many packets."""
    until_s = time.monotonic() + LIMIT_S
    while sent(hosts) < packets and time.monotonic() < until_s:
        pass


def writing(hosts: Hosts) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """Start a program that writes to another one of its host, and wait until it does."""
    # A ping-pong may be ended between an acknowledgement and an answer, for which its peer would
    # wait for ever; who writes all the time always waits for an acknowledgement.
    words = ["ib_write_bw", "-x", "0", "-F", "-s", "65536", "-D", "50"]
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here; install perftest")
    listening = hosts.listen(words, 18515)
    calling = hosts.start(LISTENER, [*words, ADDRESS])
    await_sent(hosts, 5000)
    return listening, calling


def test_a_process_whose_peer_is_killed_gives_up_after_its_retries(hosts: Hosts) -> None:
    listening, calling = writing(hosts)
    stop(listening, signal.SIGKILL)
    listening.communicate()
    said, _ = calling.communicate()
    assert "Failed status 12" in said, said


def test_a_process_gives_up_as_over_udp_when_the_port_of_both_loses_its_cable(hosts: Hosts) -> None:
    listening, calling = writing(hosts)
    hosts.pull(LISTENER, "lan0")
    try:
        said, _ = calling.communicate()
    finally:
        hosts.plug(LISTENER, "lan0")
    stop(listening)
    listening.communicate()
    assert "Failed status 12" in said, said


def test_messages_of_one_host_move_to_the_other_port_and_none_is_lost(
    hosts: Hosts, tmp_path: Path
) -> None:
    migrating = compiled("migrating", tmp_path)
    ends = ["listen", "connect"]
    words = {end: [migrating, "rc", end, SECOND_ADDRESS, "200", "until-port-error"] for end in ends}
    listening = hosts.listen(words["listen"], 18515)
    calling = hosts.start(LISTENER, words["connect"])
    await_sent(hosts, 5000)
    hosts.pull(LISTENER, "lan0")
    try:
        texts = [calling.communicate()[0], listening.communicate()[0]]
    finally:
        hosts.plug(LISTENER, "lan0")
    assert (calling.returncode, listening.returncode) == (0, 0), texts
    for text in texts:
        assert text.count("event port error 1") == 1, texts
        assert text.endswith("port 2 migrated\n"), texts


@pytest.mark.parametrize("with_fault", ["listener", "caller"])
def test_messages_of_one_host_are_sent_again_when_a_fault_took_the_port_of_one_down(
    hosts: Hosts, tmp_path: Path, with_fault: str
) -> None:
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    script.write_text(
        '[[fault]]\npacket = "send"\naction = "port_down"\nfor = "20 ms"\nafter = 500\ntimes = 1\n'
    )
    options = [*hosts.options, "--faults", str(script), "--fault-log", str(log)]
    words = [*PINGPONG, "-c", "-n", "1000"]
    faulty = replace(hosts, options=options)
    listening = (faulty if with_fault == "listener" else hosts).listen(words, 18515)
    calling = (faulty if with_fault == "caller" else hosts).run(LISTENER, [*words, ADDRESS])
    if calling.returncode != 0:
        stop(listening)
    text, _ = listening.communicate()
    assert (calling.returncode, listening.returncode) == (0, 0), (calling.stdout, text)
    assert '"what": "port_down"' in log.read_text()


# Prints what a server has used of a processor, in user and system mode, as its client has ended and
# a second later. The client comes again until the server listens.
LEFT_ALONE = f"""
rping -s -P -a {ADDRESS} >/dev/null 2>&1 & server=$!
until rping -c -a {ADDRESS} -C 300 >/dev/null 2>&1; do kill -0 $server || exit 1; done
for moment in before after; do cut -d" " -f14,15 /proc/$server/stat; sleep 1; done
kill $server
"""


# Prints how many mappings of shared memory a server has after each of its clients, and in the end.
FORMER_CLIENTS = f"""
rping -s -P -a {ADDRESS} >/dev/null 2>&1 & server=$!
for client in 1 2 3 4; do
  until rping -c -a {ADDRESS} -C 300 >/dev/null 2>&1; do kill -0 $server || exit 1; done
  grep -c lanewise-ring /proc/$server/maps
done
for tries in $(seq 50); do
  grep -q lanewise-ring /proc/$server/maps || break
  sleep 0.1
done
echo left $(grep -c lanewise-ring /proc/$server/maps)
kill $server
"""


def test_a_server_keeps_nothing_of_clients_of_the_same_host_that_have_ended(hosts: Hosts) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    said = hosts.run(LISTENER, ["sh", "-c", FORMER_CLIENTS])
    assert said.returncode == 0, said.stdout
    assert said.stdout.splitlines()[-1] == "left 0", said.stdout


def test_a_server_sleeps_when_its_client_of_the_same_host_has_ended(hosts: Hosts) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    said = hosts.run(LISTENER, ["sh", "-c", LEFT_ALONE])
    assert said.returncode == 0, said.stdout
    before, after = (sum(map(int, line.split())) for line in said.stdout.splitlines())
    assert (after - before) / os.sysconf("SC_CLK_TCK") < 0.1
