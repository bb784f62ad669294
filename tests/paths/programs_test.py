# SPDX-License-Identifier: BSD-3-Clause
"""Programs of others under `lanewise protect`: they go on when their cable is pulled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lanewise.reproduce.hca_hosts import ADDRESS, CALLER, LIMIT_S, SECOND_ADDRESS, Hosts

PROTECT = [sys.executable, "-m", "lanewise", "protect"]


def needed(program: str, packages: str) -> None:
    """Skip where a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here; install {packages}")


def packets(hosts: Hosts, interface: str) -> int:
    """Return how many packets the caller has sent through an interface."""
    show = hosts.bed.line(CALLER, ["cat", "/proc/net/dev"])
    table = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == interface:
            return int(numbers.split()[9])
    raise AssertionError(table)


def await_packets(hosts: Hosts, interface: str, count: int) -> None:
    """Wait until the caller has sent so many packets through an interface."""
    until_s = time.monotonic() + LIMIT_S
    while packets(hosts, interface) < count and time.monotonic() < until_s:
        pass


def pull_in_mid_run(hosts: Hosts, before: int) -> None:
    """Pull the caller's first cable once its traffic flows, and put it back when it flows again."""
    await_packets(hosts, "lan0", before + 500)
    other = packets(hosts, "lan1")
    hosts.pull(CALLER, "lan0")
    # Programs say goodbye over TCP, which has no other way than the first cable.
    await_packets(hosts, "lan1", other + 500)
    hosts.plug(CALLER, "lan0")


def protected(hosts: Hosts, report: Path, words: list[str]) -> str:
    """Run a program and its peer, pull the caller's first cable, and return what both said."""
    line = [*PROTECT, "--report", str(report), "--", *words]
    puller = threading.Thread(target=pull_in_mid_run, args=(hosts, packets(hosts, "lan0")))
    puller.start()
    said = hosts.pair(line, [*line, ADDRESS])
    puller.join()
    assert said.good, said
    return str(said)


def test_pingpong_goes_on_over_the_other_port(hosts: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    words = ["ibv_rc_pingpong", "-g", "0", "-n", "40000"]
    report = tmp_path / "report.jsonl"
    protected(hosts, report, words)
    reports = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert all(one["migrations"] >= 1 for one in reports)


def pingpong(hosts: Hosts, options: list[str]) -> str:
    words = [*PROTECT, *options, "--", "ibv_rc_pingpong", "-n", "100", "-g", "0"]
    return str(hosts.pair(words, [*words, ADDRESS]))


def path_file(tmp_path: Path, gids: list[list[str]]) -> str:
    hosts = [
        {"name": f"host{i}", "ports": [{"device": "lanewise0", "port": 1 + j, "gids": [gid]}
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


def test_discovered_files_of_both_hosts_lead_to_the_peer(hosts: Hosts, tmp_path: Path) -> None:
    needed("ibv_rc_pingpong", "ibverbs-utils")
    name = tmp_path / "paths.json"
    discover = [sys.executable, "-m", "lanewise", "paths", "discover", "-o", str(name)]
    for host in ("a1", "a2"):
        assert hosts.run(host, [*discover, "--name", host]).returncode == 0
    assert SECOND_ADDRESS in name.read_text(encoding="utf-8")
    said = pingpong(hosts, ["--paths", str(name)])
    assert said.count("1 queue pair protected, 0 migrations") == 2, said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--paths", "nowhere.json"], "nowhere.json cannot be read"),
        (["--policy", "wander"], "--policy wander: use back, stay, balance"),
        (["--quiet", "-1"], "--quiet -1"),
        (["--report", "/nowhere/report"], "/nowhere/report cannot be written"),
    ],
)
def test_bad_options_are_refused_in_a_line(hosts: Hosts, options: list[str], sentence: str) -> None:
    done = hosts.run(CALLER, [*PROTECT, *options, "--", "true"])
    assert done.returncode == 2, done.stdout
    assert sentence in done.stdout
