# SPDX-License-Identifier: BSD-3-Clause
"""Programs of others under `lanewise rdma protect`: they go on when their cable is pulled."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from ports import await_packets, packets

from experiments.hca.clients import CLIENTS
from experiments.hca.hosts import ADDRESS, CALLER, SECOND_ADDRESS, Hosts

PROTECT = [sys.executable, "-m", "lanewise", "rdma", "protect"]


def needed(program: str, packages: str) -> None:
    """Skip where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here; install {packages}")


def pull_in_mid_run(hosts: Hosts, before: int) -> None:
    """Pull the caller's first cable once its traffic flows, and put it back when it flows again."""
    # Connecting takes about 20 packets.  A busy machine may carry only hundreds in a whole run.
    await_packets(hosts.bed, "lan0", before + 100)
    other = packets(hosts.bed, "lan1")
    hosts.pull(CALLER, "lan0")
    # Programs say goodbye over TCP, which has no other way than the first cable.
    try:
        await_packets(hosts.bed, "lan1", other + 100)
    finally:
        hosts.plug(CALLER, "lan0")


def protected(hosts: Hosts, report: Path, words: list[str]) -> str:
    """Run a program and its peer, pull the caller's first cable, and return what both said."""
    line = [*PROTECT, "--report", str(report), "--", *words]
    with ThreadPoolExecutor(max_workers=1) as beside:
        pulled = beside.submit(pull_in_mid_run, hosts, packets(hosts.bed, "lan0"))
        said = hosts.pair(line, [*line, ADDRESS])
    assert said.good, said
    pulled.result()
    return str(said)


@pytest.mark.parametrize(
    "words",
    [
        ["ibv_rc_pingpong", "-g", "0", "-n", "20000"],
        ["ib_send_bw", "-x", "0", "-D", "4", "-s", "4096"],
        ["ib_write_bw", "-x", "0", "-D", "4", "-s", "65536"],
        ["ib_write_lat", "-x", "0", "-D", "4"],
    ],
    ids=lambda words: words[0],
)
def test_it_goes_on_over_the_other_port(hosts: Hosts, tmp_path: Path, words: list[str]) -> None:
    needed(words[0], "ibverbs-utils perftest")
    report = tmp_path / "report.jsonl"
    protected(hosts, report, words)
    reports = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert all(one["migrations"] >= 1 for one in reports)


@pytest.mark.parametrize("name", ["qperf rc", "ucx_perftest tag_bw over rc_verbs,ud_verbs"])
def test_its_queue_pairs_are_protected(hosts: Hosts, name: str) -> None:
    client = next(client for client in CLIENTS if client.name == name)
    needed(client.caller[0], client.package)
    options = ["--ports", "lan0,lan1", "--link-layer", client.link_layer]
    here = replace(hosts, options=options, variables=client.variables)
    said = here.pair(
        [*PROTECT, "--", *client.listening], [*PROTECT, "--", *client.calling], client.port
    )
    assert said.good, said
    assert client.shows in said.caller, said
    assert re.search(r"[1-9]\d* queue pairs? protected", said.caller), said


def pingpong(hosts: Hosts, options: list[str]) -> str:
    words = [*PROTECT, *options, "--", "ibv_rc_pingpong", "-n", "100", "-g", "0"]
    return str(hosts.pair(words, [*words, ADDRESS]))


def path_file(tmp_path: Path, gids: list[list[str]], device: str = "lanewise0") -> str:
    hosts = [
        {"name": f"host{i}", "ports": [{"device": device, "port": 1 + j, "gids": [gid]}
                                       for j, gid in enumerate(ports)]}
        for i, ports in enumerate(gids)
    ]  # fmt: skip
    path = tmp_path / "paths.json"
    text = json.dumps({"schema": "lanewise-paths", "version": 1, "hosts": hosts})
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_path_file_without_the_peer_leaves_it_unprotected(hosts: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    names = path_file(tmp_path, [["::ffff:10.1.0.9", "::ffff:10.1.1.9"]])
    said = pingpong(hosts, ["--paths", names])
    assert "the path file does not name the peer's address that goes with port 2" in said
    assert "(0, 0)" in said


def test_strict_refuses_what_cannot_be_protected(hosts: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    names = path_file(tmp_path, [["::ffff:10.1.0.9", "::ffff:10.1.1.9"]])
    said = pingpong(hosts, ["--strict", "--paths", names])
    assert "--strict refuses the queue pair" in said
    assert "(0, 0)" not in said


def test_strict_refuses_all_where_the_settings_cannot_be_used(hosts: Hosts) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    unusable = ["env", "LANEWISE_PROTECT_FAILBACK_DELAY_MS=soon"]
    words = [*PROTECT, "--strict", "--", *unusable, "ibv_rc_pingpong", "-n", "100", "-g", "0"]
    said = str(hosts.pair(words, [*words, ADDRESS]))
    assert "use a number of milliseconds; --strict refuses all queue pairs" in said
    assert "(0, 0)" not in said


def test_a_path_file_of_unknown_devices_and_ports_leaves_it_unprotected(
    hosts: Hosts, tmp_path: Path
) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    gids = [[f"::ffff:10.9.{port}.{host}" for port in range(5)] for host in range(2)]
    said = pingpong(hosts, ["--paths", path_file(tmp_path, gids, device="mlx5_9")])
    assert "the queue pair runs unprotected" in said
    assert said.count("0 queue pairs protected, 1 unprotected") == 2, said
    assert "(0, 0)" in said


def test_a_second_port_with_smaller_packets_leaves_it_unprotected(hosts: Hosts) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")

    def set_mtu(mtu_bytes: int) -> None:
        words = ["ip", "link", "set", "lan1", "mtu", str(mtu_bytes)]
        subprocess.run(hosts.bed.line(CALLER, words), check=True)

    set_mtu(700)
    try:
        said = pingpong(hosts, [])
    finally:
        set_mtu(1500)
    assert "port 2 carries 512 bytes a packet and the queue pair needs 1024" in said
    assert "(0, 0)" in said


def test_datagrams_are_covered_by_both_ports(hosts: Hosts) -> None:
    needed("ibv_ud_pingpong", "ibverbs-utils")
    words = [*PROTECT, "--strict", "--", "ibv_ud_pingpong", "-n", "100", "-g", "0"]
    said = str(hosts.pair(words, [*words, ADDRESS]))
    assert said.count("1 queue pair protected (1 over both ports), 0 migrations") == 2, said
    assert "(0, 0)" in said


def test_a_type_without_paths_runs_unprotected_and_says_so(hosts: Hosts) -> None:
    needed("ibv_ud_pingpong", "ibverbs-utils")
    one_port = replace(hosts, options=["--ports", "lan0"])
    words = [*PROTECT, "--", "ibv_ud_pingpong", "-n", "100", "-g", "0"]
    said = str(one_port.pair(words, [*words, ADDRESS]))
    assert said.count("only queue pairs of type RC and UC have paths that can migrate") == 2, said
    assert said.count("on lanewise0 waits while a port is out") == 2, said
    assert "(0, 0)" in said


def test_strict_refuses_a_type_without_paths(hosts: Hosts) -> None:
    needed("ibv_ud_pingpong", "ibverbs-utils")
    one_port = replace(hosts, options=["--ports", "lan0"])
    words = [*PROTECT, "--strict", "--", "ibv_ud_pingpong", "-n", "100", "-g", "0"]
    said = str(one_port.pair(words, [*words, ADDRESS]))
    assert "--strict refuses the queue pair" in said
    assert "(0, 0)" not in said


def test_a_path_on_which_the_peer_does_not_answer_is_not_armed(
    hosts: Hosts, tmp_path: Path
) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    # The caller is not found in it either, so only the listener loads an alternate.
    wrong = path_file(tmp_path, [["::ffff:10.1.0.1", "::ffff:10.1.1.1"],
                                 ["::ffff:10.1.0.2", "::ffff:10.1.1.77"]])  # fmt: skip
    said = pingpong(hosts, ["--paths", wrong])
    assert said.count("0 queue pairs protected, 1 loaded and never armed") == 1, said
    assert "(0, 0)" in said


NOTHING_USED = "no program that was started here used a queue pair, so nothing was protected"


def test_a_line_at_the_end_says_that_nothing_was_protected(hosts: Hosts) -> None:
    assert NOTHING_USED in hosts.run(CALLER, [*PROTECT, "--", "true"]).stdout


def test_no_such_line_comes_where_a_program_of_the_program_used_a_queue_pair(hosts: Hosts) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    shell = "ibv_rc_pingpong -g 0 -n 100 {}; exec true"
    said = str(
        hosts.pair(
            [*PROTECT, "--", "bash", "-c", shell.format("")],
            [*PROTECT, "--", "bash", "-c", shell.format(ADDRESS)],
        )
    )
    assert "(0, 0)" in said
    assert NOTHING_USED not in said


def test_discovered_files_of_both_hosts_lead_to_the_peer(hosts: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    name = tmp_path / "paths.json"
    discover = [sys.executable, "-m", "lanewise", "rdma", "discover", "-o", str(name)]
    for host in ("a1", "a2"):
        assert hosts.run(host, [*discover, "--name", host]).returncode == 0
    assert SECOND_ADDRESS in name.read_text(encoding="utf-8")
    said = pingpong(hosts, ["--paths", str(name)])
    assert said.count("1 queue pair protected, 0 migrations") == 2, said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--paths", "nowhere.json"], "nowhere.json does not exist"),
        (["--policy", "wander"], "--policy wander: use back, stay, balance"),
        (["--failback-delay", "-1"], "--failback-delay -1"),
        (["--failback-delay", "1 week"], "--failback-delay 1 week is not a duration"),
        (["--quiet", "-1"], "--failback-delay -1 ms"),
        (["--report", "/nowhere/report"], "/nowhere/report cannot be written"),
    ],
)
def test_bad_options_are_refused_in_a_line(hosts: Hosts, options: list[str], sentence: str) -> None:
    done = hosts.run(CALLER, [*PROTECT, *options, "--", "true"])
    assert done.returncode == 2, done.stdout
    assert sentence in done.stdout
