# SPDX-License-Identifier: BSD-3-Clause
"""What a program hears from the device: an error where it uses it wrongly, events of its ports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.connections import CLIENTS, try_client
from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, SECOND_ADDRESS, Hosts
from experiments.stopping import stop
from lanewise.launch.preload import obstacle

CONFIG = """
ports = ["lan1"]
link_layer = "infiniband"
mtu = 512
[lids]
"10.1.1.1" = 64
"10.1.1.2" = 66
"""
NOT_LOOKED = "no program that was started here looked for an RDMA device"
PROGRAMS = Path(__file__).with_name("programs")
PORT = "lan1"


@pytest.fixture
def watching(hosts: Hosts) -> Iterator[subprocess.Popen[str]]:
    """Start a program that prints the events of the caller's device."""
    if shutil.which("ibv_asyncwatch") is None:
        pytest.skip("no ibv_asyncwatch here; install ibverbs-utils")
    started = hosts.start(CALLER, ["stdbuf", "-oL", "ibv_asyncwatch", "-d", "lanewise0"])
    assert started.stdout is not None
    assert "async event FD" in started.stdout.readline()
    yield started
    stop(started)
    started.communicate()


def test_a_line_at_the_end_says_that_no_program_looked_for_the_device(hosts: Hosts) -> None:
    assert NOT_LOOKED in hosts.run(CALLER, ["true"]).stdout


def test_a_line_says_that_a_program_that_is_linked_statically_has_no_device(hosts: Hosts) -> None:
    if not Path("/sbin/ldconfig").is_file() or obstacle("/sbin/ldconfig") == "":
        pytest.skip("no ldconfig here that is linked statically")
    said = hosts.run(CALLER, ["/sbin/ldconfig", "-p"]).stdout
    assert "/sbin/ldconfig gets no RDMA device: it is linked statically" in said


def test_no_such_line_comes_after_a_tool_that_did(hosts: Hosts) -> None:
    if shutil.which("ibv_devices") is None:
        pytest.skip("no ibv_devices here; install ibverbs-utils")
    said = hosts.run(CALLER, ["bash", "-c", "ibv_devices; exec true"]).stdout
    assert "lanewise0" in said
    assert NOT_LOOKED not in said


def test_a_rank_without_a_queue_pair_says_that_messages_took_another_way(hosts: Hosts) -> None:
    if shutil.which("ibv_devices") is None:
        pytest.skip("no ibv_devices here; install ibverbs-utils")
    said = hosts.run(CALLER, ["env", "PMIX_RANK=0", "ibv_devices"]).stdout
    assert "no queue pair was made on lanewise0" in said


def configure(hosts: Hosts, *words: str, host: str = CALLER) -> str:
    """Run ip(8) on a host."""
    line = hosts.bed.line(host, ["ip", *words])
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def read_until(watching: subprocess.Popen[str], last: str) -> list[str]:
    """Return the events up to the one that is `last`."""
    assert watching.stdout is not None
    lines: list[str] = []
    for line in watching.stdout:
        lines.append(line.strip())
        if last in line:
            break
    return lines


def test_wrong_use_gets_the_error_that_the_manual_names(hosts: Hosts, tmp_path: Path) -> None:
    done = hosts.run(LISTENER, [compiled("hostile", tmp_path)])
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(" 0 wrong\n")
    assert "a path MTU of" not in done.stdout


PROMISES = {
    "batch": "requests built by calls are posted together or not at all",
    "threads": "a thread that builds requests has the queue pair for itself",
    "changing": "memory that changes while it is read spoils no packet",
    "readonly": "memory that may not be written is not registered for writing",
    "written": "a write to memory that is gone is an error",
    "read": "a read of memory that is gone is an error",
    "sent": "memory that is gone before it is sent is an error",
    "filled": "memory that is gone before a read fills it is an error",
    "on-demand": "memory with on-demand paging may be mapped after it is registered",
    "advised": "memory that is to be prefetched is present afterwards",
    "zero-based": "addresses in a zero-based region count from its beginning",
    "device-memory": "device memory is copied, registered and freed as a card's",
    "parent-domain": "keys of a parent domain are those of its protection domain",
    "windows": "a memory window of type 1 opens what it was bound to last",
    "invalidated": "a memory window of type 2 is open until it is invalidated",
    "extended": "a file names one domain of extended connections",
    "errno": "an error that a call returns is errno as well",
    "flagged": "requests in pieces are sent whole, whatever the flags of inline data",
    "in-turns": "a thread reads an entry of an extended queue while others wait to begin",
    "timed": "completions tell when they were made",
    "added-to": "an atomic addition to memory that may not be written is refused",
    "swapped": "an atomic swap in memory that may not be written is refused",
    "unaddressed": "a datagram without an address is refused",
    "attached": "a queue pair that is attached to a group cannot be destroyed",
    "changed-by-nothing": "a change of a region that says nothing, or half, is refused",
    "changed-whole": "a change of a shared receive queue is made whole or not at all",
    "in-a-child": "a child may destroy what its parent has, without effect",
    "of-another-context": "what another context has is refused",
    "being-destroyed": "an object that another thread destroys is refused before it is gone",
    "capacities": "the capacities of what is made are told to who made it",
}


@pytest.mark.parametrize("promise", PROMISES, ids=PROMISES.values())
def test_what_the_manual_promises_is_kept(hosts: Hosts, tmp_path: Path, promise: str) -> None:
    over_loopback = Hosts(hosts.bed, ["--ports", "lo"])
    done = over_loopback.run(LISTENER, [compiled("promises", tmp_path), promise])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("scarce", ["descriptors", "threads"])
def test_a_device_is_opened_whole_or_not_at_all_where_something_is_scarce(
    hosts: Hosts, tmp_path: Path, scarce: str
) -> None:
    done = hosts.run(LISTENER, [compiled("scarce", tmp_path), scarce])
    assert done.returncode == 0, done.stdout


def test_a_deadline_that_comes_while_the_helper_is_about_to_sleep_wakes_it(
    hosts: Hosts, tmp_path: Path
) -> None:
    done = hosts.run(LISTENER, [compiled("unwoken", tmp_path)])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("lock", ["1", "2"])
def test_a_program_may_end_while_a_thread_of_it_closes_the_device(
    hosts: Hosts, tmp_path: Path, lock: str
) -> None:
    nonsense = replace(hosts, variables={"MALLOC_PERTURB_": "165"})
    done = nonsense.run(LISTENER, [compiled("ending", tmp_path), lock])
    assert done.returncode == 0, done.stdout


LOSING = '[[fault]]\npacket = "any"\naction = "lose"\nevery = 10\n'


def test_memory_that_changes_spoils_no_packet_that_is_sent_again(
    hosts: Hosts, tmp_path: Path
) -> None:
    script = tmp_path / "faults.toml"
    script.write_text(LOSING, encoding="utf-8")
    # Through the memory that processes of one host share, packets have no checksum.
    losing = Hosts(hosts.bed, ["--ports", "lo", "--faults", str(script)],
                   {"LANEWISE_HCA_SHARED_MEMORY": "0"})  # fmt: skip
    done = losing.run(LISTENER, [compiled("promises", tmp_path), "retransmitted"])
    assert done.returncode == 0, done.stdout


FULL_SOCKET = """
ip link set lo up
ip link add v0 mtu 9000 type veth peer name v1 mtu 9000
ip addr add 10.9.0.1/24 dev v0
ip link set v0 up
ip link set v1 up
ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0
tc qdisc add dev v0 root tbf rate 200mbit burst 70000 limit 100mb || exit 77
exec "$0" -m lanewise rdma run --ports v0 -- "$1" 10.9.0.2
"""


def test_a_program_that_sleeps_while_the_socket_is_full_is_woken(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("tc") is None:
        pytest.skip("needs root and tc to make a slow link")
    words = ["unshare", "-n", "sh", "-c", FULL_SOCKET, sys.executable]
    line = [*words, compiled("sleeping", tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this kernel has no token bucket (sch_tbf)")
    assert done.returncode == 0, done.stdout + done.stderr


def test_addresses_that_come_and_go_are_events_of_the_port(
    hosts: Hosts, watching: subprocess.Popen[str]
) -> None:
    second = "10.7.7.7/24"
    configure(hosts, "addr", "add", second, "dev", PORT)
    assert read_until(watching, "GID_CHANGE")[-1].endswith("IBV_EVENT_GID_CHANGE (18), port 2")
    shown = hosts.run(CALLER, ["ibv_devinfo", "-v"]).stdout
    assert "::ffff:10.7.7.7" in shown
    configure(hosts, "addr", "del", second, "dev", PORT)
    assert read_until(watching, "GID_CHANGE")[-1].endswith("port 2")


def test_a_port_without_an_address_is_down(hosts: Hosts, watching: subprocess.Popen[str]) -> None:
    listing = configure(hosts, "-o", "addr", "show", "dev", PORT).splitlines()
    addresses = [line.split()[3] for line in listing]
    configure(hosts, "addr", "flush", "dev", PORT)
    assert read_until(watching, "PORT_ERR")[-1].endswith("IBV_EVENT_PORT_ERR (10), port 2")
    for address in addresses:
        configure(hosts, "addr", "add", address, "dev", PORT)
    assert "IBV_EVENT_PORT_ACTIVE (9), port 2" in read_until(watching, "PORT_ACTIVE")[-1]


def test_a_file_describes_the_device(hosts: Hosts, tmp_path: Path) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    file = tmp_path / "device.toml"
    file.write_text(CONFIG, encoding="utf-8")
    described = Hosts(hosts.bed, ["--config", str(file)])
    shown = described.run(LISTENER, ["ibv_devinfo"]).stdout
    assert "phys_port_cnt:\t\t\t1" in shown
    assert "active_mtu:\t\t512" in shown
    assert "port_lid:\t\t64" in shown
    words = ["ibv_rc_pingpong", "-c", "-n", "100", "-m", "512"]
    said = described.pair(words, [*words, SECOND_ADDRESS])
    assert said.good, said
    assert "LID 0x0042" in said.listener


def test_packets_travel_over_ipv6(hosts: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    switch = "/proc/sys/net/ipv6/conf/lan0/disable_ipv6"
    addresses = {LISTENER: "fd00::1/64", CALLER: "fd00::2/64"}
    for host, address in addresses.items():
        line = hosts.bed.line(host, ["sh", "-c", f"echo 0 >{switch}"])
        subprocess.run(line, check=True)
        configure(hosts, "addr", "add", address, "dev", "lan0", "nodad", host=host)
    words = ["ibv_rc_pingpong", "-c", "-n", "200", "-g", "1"]
    said = hosts.pair(words, [*words, ADDRESS])
    for host in addresses:
        line = hosts.bed.line(host, ["sh", "-c", f"echo 1 >{switch}"])
        subprocess.run(line, check=True)
    assert said.good, said
    assert "GID fd00::2" in said.listener


ASK_FOR_INET6 = "import socket; socket.socket(socket.AF_INET6)"


def test_a_host_whose_kernel_has_no_ipv6_has_the_device(hosts: Hosts, tmp_path: Path) -> None:
    library = compiled("without_inet6", tmp_path, options=["-shared", "-fPIC"])
    without = replace(hosts, variables={"LD_PRELOAD": library})
    asked = without.run(LISTENER, [sys.executable, "-c", ASK_FOR_INET6])
    assert "Address family not supported by protocol" in asked.stdout
    (rping,) = [client for client in CLIENTS if client.name == "rping"]
    if rping.is_missing:
        pytest.skip(f"no rping here; install {rping.package}")
    assert try_client(without, rping) == ""
