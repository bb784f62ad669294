# SPDX-License-Identifier: BSD-3-Clause
"""Protection over two devices of one port each: a device is cut, and nothing is lost or twice."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.hca.hosts import ADDRESS, CALLER, LISTENER, Hosts
from experiments.migration.two_ports import cut, exchange, faults_of
from experiments.stopping import stop

ONE, TWO = "lan0", "lan1"
DEVICES = ("--devices", f"{ONE},{TWO}")
OWN = Path(__file__).with_name("programs")
OF_THE_DEVICE = Path(__file__).parents[1] / "hca" / "programs"
PROTECT = [sys.executable, "-m", "lanewise", "rdma", "protect"]


def protected(hosts: Hosts) -> Hosts:
    """Give the hosts programs that are protected over two devices."""
    return Hosts(hosts.bed, (*DEVICES, "--", *PROTECT))


def compiled(source: Path, folder: Path, library: str) -> str:
    """Compile a program, and return its path; skip where there is no compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler; install build-essential")
    program = str(folder / source.stem)
    words = ["cc", "-std=gnu11", "-O1", "-Wall", "-Werror", "-o", program, str(source)]
    subprocess.run([*words, f"-l{library}"], check=True)
    return program


def run(hosts: Hosts, seconds: float, *options: str, **sides: list[str]) -> list[dict[str, Any]]:
    """Exchange messages on two queue pairs, assert that all arrived once, and return them."""
    words = ["--seconds", str(seconds), "--resume-timeout-s", "4", "--queue-pairs", "2", "--mixed"]
    protect = ("--failback-delay", "200ms", *options)
    said = exchange(hosts.bed, words, protect=protect, device=DEVICES, **sides)
    assert min(said.caller[0]["sent"], said.listener[0]["sent"]) > 0
    assert all(ns >= 0 for ns in said.caller[0]["resumed_ns"]), "no message followed a cut"
    assert not any(faults_of(said).values()), said
    return [said.caller[0], said.listener[0]]


def reports(file: Path) -> list[dict[str, Any]]:
    """Return what both ends reported."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("side", ["at_caller", "at_listener"])
def test_a_cut_at_either_end_moves_both_to_the_other_device_and_back(
    hosts: Hosts, side: str, tmp_path: Path
) -> None:
    file = tmp_path / "report"
    run(hosts, 5, "--report", str(file), **{side: cut(ONE, 0.4, 0.3)})
    for report in reports(file):
        assert report["protected"] == 2
        assert (report["migrations"], report["returns"]) >= (4, 2), report


def test_traffic_stays_on_the_second_device_where_told_to(hosts: Hosts, tmp_path: Path) -> None:
    file = tmp_path / "report"
    run(hosts, 2, "--policy", "stay", "--report", str(file), at_caller=cut(ONE, 0.4, 0.2))
    for report in reports(file):
        assert report["migrations"] >= 2
        assert report["events"][-1]["port"] == 2 or report["events"][-1]["event"] != "migrated"


def test_writes_reads_and_immediate_data_outlive_cuts(hosts: Hosts) -> None:
    cuts = [*cut(ONE, 0.4, 0.1), *cut(TWO, 0.9, 0.1), *cut(ONE, 1.4, 0.1)]
    for said in run(hosts, 2.5, at_caller=cuts):
        assert said["writes"] > 10


def test_both_devices_may_be_out_for_a_while(hosts: Hosts) -> None:
    run(hosts, 3, at_caller=[*cut(ONE, 0.4, 0.8), *cut(TWO, 0.5, 0.8)])


def test_without_a_cut_the_messages_stay_on_the_first_device(hosts: Hosts, tmp_path: Path) -> None:
    file = tmp_path / "report"
    run(hosts, 1, "--report", str(file))
    assert [report["migrations"] for report in reports(file)] == [0, 0]


def test_a_queue_pair_that_is_connected_to_itself_is_carried_too(
    hosts: Hosts, tmp_path: Path
) -> None:
    looped = compiled(OF_THE_DEVICE / "looped.c", tmp_path, "ibverbs")

    done = protected(hosts).run(LISTENER, [looped])

    assert "success, 100 messages\n" in done.stdout
    assert "1 queue pair protected" in done.stdout


def test_a_program_may_end_in_a_signal_handler_in_the_middle_of_a_poll(
    hosts: Hosts, tmp_path: Path
) -> None:
    looped = compiled(OF_THE_DEVICE / "looped.c", tmp_path, "ibverbs")

    done = protected(hosts).run(LISTENER, [looped, "-x"])

    assert done.returncode == 0
    assert "success, 100 messages\n" in done.stdout


def test_no_driver_is_asked_about_a_queue_pair_that_it_did_not_make(
    hosts: Hosts, tmp_path: Path
) -> None:
    program = compiled(OWN / "foreign_calls.c", tmp_path, "ibverbs")

    done = protected(hosts).run(LISTENER, [program])

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("seed", [1, 2])
def test_cuts_at_random_moments_lose_nothing(hosts: Hosts, seed: int) -> None:
    drawn = random.Random(seed)
    sides: dict[str, list[str]] = {"at_listener": [], "at_caller": []}
    at_s = 0.2
    for _ in range(6):
        at_s += drawn.uniform(0.05, 0.4)
        for_s = drawn.uniform(0.01, 0.2)
        sides[drawn.choice(list(sides))] += cut(drawn.choice([ONE, TWO]), at_s, for_s)
        at_s += for_s
    run(hosts, at_s + 1, **sides)


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("ibverbs-utils", ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"]),
        ("ibverbs-utils", ["ibv_rc_pingpong", "-g", "0", "-c", "-e", "-n", "200"]),
        ("ibverbs-utils", ["ibv_srq_pingpong", "-g", "0", "-c", "-n", "200"]),
        ("perftest", ["ib_send_bw", "-x", "0", "-n", "200", "-s", "100000"]),
        ("perftest", ["ib_write_bw", "-x", "0", "-n", "200"]),
        ("perftest", ["ib_read_bw", "-x", "0", "-n", "200"]),
        ("perftest", ["ib_atomic_bw", "-x", "0", "-n", "200"]),
        ("perftest", ["ib_send_lat", "-x", "0", "-n", "200", "-e"]),
    ],
)
def test_programs_run_as_they_are(hosts: Hosts, package: str, words: Sequence[str]) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here; install {package}")
    said = protected(hosts).pair(words, [*words, ADDRESS])
    assert said.good, said
    assert "protected, 0 migrations" in said.caller


# Of these, more are under way than the reader has room for.
@pytest.mark.parametrize("count", [1_000_000, 1_100_000, 4_000_000])
def test_a_stream_is_read_to_its_end_after_the_sender_is_gone(
    hosts: Hosts, count: int, tmp_path: Path
) -> None:
    program = compiled(OWN / "slow_reader.c", tmp_path, "rdmacm")
    both = protected(hosts)
    sending = both.start(LISTENER, [program, str(count)])
    reading = both.run(CALLER, [program, str(count), ADDRESS])
    if reading.returncode != 0:
        stop(sending)
    sent, _ = sending.communicate()
    assert f"got {count} of {count} bytes, 0 wrong, then 0" in reading.stdout
    assert f"sent {count} of {count} bytes" in sent


def test_a_peer_that_is_not_protected_is_told(hosts: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    words = ["ibv_rc_pingpong", "-g", "0", "-n", "10"]
    listening = Hosts(hosts.bed, DEVICES).listen(words, 18515)
    short = Hosts(hosts.bed, (*DEVICES, "--", *PROTECT, "--retry-window", "1s"))
    calling = short.run(CALLER, [*words, ADDRESS])
    stop(listening)
    listening.communicate()
    assert calling.returncode != 0
    assert "has not answered on either device; protect both ends" in calling.stdout


@pytest.fixture
def bare(hosts: Hosts) -> Iterator[Hosts]:
    """Give both hosts an interface without an address, and the second device on it."""
    for host in (LISTENER, CALLER):
        for words in (["add", "bare", "type", "bridge"], ["set", "bare", "up"]):
            subprocess.run(hosts.bed.line(host, ["ip", "link", *words]), check=True)
        flush = ["ip", "-6", "address", "flush", "dev", "bare"]
        subprocess.run(hosts.bed.line(host, flush), check=True)
    yield Hosts(hosts.bed, ("--devices", f"{ONE},bare", "--", *PROTECT))
    for host in (LISTENER, CALLER):
        subprocess.run(hosts.bed.line(host, ["ip", "link", "del", "bare"]), check=True)


def test_a_second_device_without_an_address_leaves_queue_pairs_on_the_first(bare: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    words = ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "200"]

    said = bare.pair(words, [*words, ADDRESS])

    assert said.good, said
    assert (
        "lanewise1 has no address like the one that a queue pair uses on lanewise0" in said.caller
    )
    assert "0 queue pairs protected, 1 unprotected, 0 migrations" in said.caller


def test_strict_refuses_queue_pairs_without_a_path_over_the_second_device(bare: Hosts) -> None:
    if shutil.which("ibv_rc_pingpong") is None:
        pytest.skip("no ibv_rc_pingpong here; install ibverbs-utils")
    words = ["ibv_rc_pingpong", "-g", "0", "-n", "10"]
    strict = Hosts(bare.bed, (*bare.options, "--strict"))
    listening = bare.listen(words, 18515)

    calling = strict.run(CALLER, [*words, ADDRESS])

    stop(listening)
    listening.communicate()
    assert calling.returncode != 0
    assert "--strict refuses queue pairs that are not protected" in calling.stdout


def test_nothing_is_left_behind(hosts: Hosts) -> None:
    run(hosts, 0.5)
    shown = Hosts(hosts.bed).bed.line(LISTENER, [*PROTECT[:-1], "status", "--json"])
    done = subprocess.run(shown, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["devices"] == []
