# SPDX-License-Identifier: BSD-3-Clause
"""Two devices of one port each, as programs, libraries and `rdma status` see them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.hosts import (
    ADDRESS,
    CALLER,
    LISTENER,
    SECOND_ADDRESS,
    UCX_PORT,
    Hosts,
)
from experiments.stopping import stop

SYSFS = """
import os
root = "/sys/class/infiniband/"
print(sorted(os.listdir(root)), os.path.exists(root + "lanewise2"))
for name in ("lanewise0", "lanewise1"):
    print(os.listdir(root + name + "/device/net"), os.path.exists("/dev/infiniband/" + name))
    print(open(root + name + "/ports/1/gid_attrs/ndevs/0").read().strip())
    print(os.path.exists(root + name + "/ports/2"))
"""
PINGPONG = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"]


def needed(program: str, package: str) -> None:
    """Skip where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here; install {package}")


@pytest.fixture(scope="module")
def apart(hosts: Hosts) -> Hosts:
    """Give the hosts two devices of one port each."""
    return Hosts(hosts.bed, ("--devices", "lan0,lan1"))


def packets(hosts: Hosts, interface: str) -> int:
    """Return how many packets the caller's host has sent through an interface."""
    words = ["cat", f"/sys/class/net/{interface}/statistics/tx_packets"]
    done = subprocess.run(
        hosts.bed.line(CALLER, words), capture_output=True, text=True, check=True
    )  # fmt: skip
    return int(done.stdout)


def test_each_device_has_a_name_a_guid_a_port_and_its_gids(apart: Hosts) -> None:
    needed("ibv_devinfo", "ibverbs-utils")
    shown = apart.run(LISTENER, ["ibv_devinfo", "-v"]).stdout
    assert re.findall(r"hca_id:\s*(\S+)", shown) == ["lanewise0", "lanewise1"]
    assert len(set(re.findall(r"node_guid:\s*(\S+)", shown))) == 2
    assert re.findall(r"phys_port_cnt:\s*(\d+)", shown) == ["1", "1"]
    first, second = shown.split("hca_id:")[1:]
    assert "::ffff:10.1.0.1" in first and "::ffff:10.1.1.1" not in first
    assert "::ffff:10.1.1.1" in second and "::ffff:10.1.0.1" not in second


def test_the_file_system_has_both_devices_and_no_third(apart: Hosts) -> None:
    said = apart.run(LISTENER, ["/usr/bin/python3", "-c", SYSFS]).stdout
    assert said.splitlines()[:7] == [
        "['lanewise0', 'lanewise1'] False",
        "['lan0'] True", "lan0", "False",
        "['lan1'] True", "lan1", "False",
    ]  # fmt: skip


def test_each_function_that_opens_files_finds_those_of_the_device(
    apart: Hosts, tmp_path: Path
) -> None:
    done = apart.run(LISTENER, [compiled("files", tmp_path)])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("device", "address", "used"),
    [("lanewise0", ADDRESS, "lan0"), ("lanewise1", SECOND_ADDRESS, "lan1")],
)
def test_pingpong_takes_the_device_that_it_is_told(
    apart: Hosts, device: str, address: str, used: str
) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    words = [*PINGPONG, "-d", device]
    before = packets(apart, used)
    said = apart.pair(words, [*words, address])
    assert said.good, said
    assert packets(apart, used) - before > 200


@pytest.mark.parametrize("program", ["ib_send_lat", "ib_write_bw", "ib_read_lat"])
def test_perftest_runs_on_the_second_device(apart: Hosts, program: str) -> None:
    needed(program, "perftest")
    words = [program, "-d", "lanewise1", "-x", "0", "-n", "200"]
    said = apart.pair(words, [*words, SECOND_ADDRESS])
    assert said.good, said


def test_the_connection_manager_takes_the_device_that_has_the_address(apart: Hosts) -> None:
    needed("rping", "rdmacm-utils")
    before = packets(apart, "lan1")
    server = apart.start(LISTENER, ["rping", "-s", "-a", SECOND_ADDRESS, "-C", "50"])
    client = apart.run(CALLER, ["rping", "-c", "-a", SECOND_ADDRESS, "-C", "50"])
    heard, _ = server.communicate()
    assert (client.returncode, server.returncode) == (0, 0), client.stdout + heard
    assert packets(apart, "lan1") - before > 50


def test_ucx_moves_one_message_over_both_devices(apart: Hosts) -> None:
    needed("ucx_perftest", "ucx-utils")
    both = Hosts(apart.bed, apart.options, {
        "UCX_TLS": "rc_verbs,ud_verbs", "UCX_NET_DEVICES": "lanewise0:1,lanewise1:1",
        "UCX_MAX_RNDV_RAILS": "2", "UCX_RNDV_THRESH": "16384",
    })  # fmt: skip
    words = ["ucx_perftest", "-p", str(UCX_PORT), "-t", "tag_bw", "-s", "1000000", "-n", "60"]
    before = [packets(apart, one) for one in ("lan0", "lan1")]
    said = both.pair(words[:3], [*words, ADDRESS], UCX_PORT)
    assert said.statuses[1] == 0, said
    sent = [packets(apart, one) - was for one, was in zip(("lan0", "lan1"), before, strict=True)]
    assert min(sent) > 100, sent


def test_status_names_the_device_of_each_queue_pair(apart: Hosts) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    waiting = apart.listen([*PINGPONG, "-d", "lanewise1"], 18515)
    try:
        words = [sys.executable, "-m", "lanewise", "rdma", "status", "--json"]
        done = subprocess.run(
            apart.bed.line(LISTENER, words), capture_output=True, text=True, check=True
        )  # fmt: skip
    finally:
        stop(waiting, signal.SIGKILL)
        waiting.communicate()
    (shown,) = json.loads(done.stdout)["devices"]
    assert shown["device"] == "lanewise1"
    assert [port["interface"] for port in shown["ports"]] == ["lan1"]


def test_each_device_has_a_capture_of_its_own(apart: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    file = tmp_path / "packets.pcap"
    capturing = Hosts(apart.bed, [*apart.options, "--pcap", str(file)])
    words = [*PINGPONG, "-d", "lanewise1"]
    listening = apart.listen(words, 18515)
    calling = capturing.run(CALLER, [*words, SECOND_ADDRESS])
    listening.communicate()
    assert calling.returncode == 0, calling.stdout
    assert Path(f"{file}.lanewise1").stat().st_size > 10_000


def test_devices_and_ports_are_not_given_together(apart: Hosts) -> None:
    wrong = Hosts(apart.bed, ("--ports", "lan0", "--devices", "lan1"))
    done = wrong.run(LISTENER, ["ibv_devinfo"])
    assert done.returncode == 2
    assert "--devices takes the place of --ports; name one of them" in done.stdout


def test_a_fault_meets_only_the_device_that_it_names(apart: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\ncall = "ibv_reg_mr"\ndevice = "lanewise1"\n', encoding="utf-8")
    log = tmp_path / "faults.jsonl"
    faulty = Hosts(apart.bed, [*apart.options, "--faults", str(script), "--fault-log", str(log)])
    sound = faulty.pair([*PINGPONG, "-d", "lanewise0"], [*PINGPONG, "-d", "lanewise0", ADDRESS])
    broken = faulty.run(LISTENER, [*PINGPONG, "-d", "lanewise1"])
    assert sound.good, sound
    assert "Couldn't register MR" in broken.stdout
    assert json.loads(log.read_text(encoding="utf-8"))["device"] == "lanewise1"
    replay = Hosts(apart.bed, [*apart.options, "--replay", str(log)])
    assert "Couldn't register MR" in replay.run(LISTENER, [*PINGPONG, "-d", "lanewise1"]).stdout
