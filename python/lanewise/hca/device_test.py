# SPDX-License-Identifier: BSD-3-Clause
"""The environment of a program on the software device."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.hca.device import (
    CONNECTION_MANAGER,
    DEVICE_NODE,
    LIBRARY,
    Device,
    check,
    empty_log,
    environment_for,
    variables_for,
)
from lanewise.launch.native import MANIFEST


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Give a build folder with the libraries."""
    values = {"mpi": "openmpi", "mpi_version": "", "build_type": "Release", "version": "0"}
    (tmp_path / MANIFEST).write_text(json.dumps({**values, "bin": "bin", "lib": "lib"}))
    (tmp_path / "lib").mkdir()
    for name in (LIBRARY, CONNECTION_MANAGER, DEVICE_NODE):
        (tmp_path / "lib" / name).touch()
    return tmp_path


def test_all_libraries_are_preloaded_before_those_that_were(build: Path) -> None:
    before = {"LANEWISE_NATIVE": str(build), "LD_PRELOAD": "/lib/own.so", "HOME": "/root"}
    after = environment_for(Device(), before)
    assert after["LD_PRELOAD"].split(":") == [
        *(str(build / "lib" / name) for name in (LIBRARY, CONNECTION_MANAGER, DEVICE_NODE)),
        "/lib/own.so",
    ]
    assert "LANEWISE_HCA_FAULTS" not in after
    assert after["LANEWISE_HCA_PORTS"] == "lo"
    assert after["HOME"] == "/root"


def test_congestion_is_met_unless_it_is_told_otherwise(build: Path) -> None:
    device = Device(congestion="none")
    assert (
        variables_for(device, {"LANEWISE_NATIVE": str(build)})["LANEWISE_HCA_CONGESTION"] == "none"
    )
    assert Device().congestion == "dcqcn"
    with pytest.raises(RequestError, match="--congestion timely: use dcqcn or none"):
        check(Device(congestion="timely"), ["lo"])


def test_a_device_in_a_device_preloads_once(build: Path) -> None:
    once = environment_for(Device(), {"LANEWISE_NATIVE": str(build)})
    assert environment_for(Device(), once)["LD_PRELOAD"] == once["LD_PRELOAD"]


def test_faults_are_told_with_the_place_of_their_log(
    build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build)
    device = Device(faults="seed=1", fault_log="faults.jsonl")
    after = environment_for(device, {"LANEWISE_NATIVE": str(build)})
    assert after["LANEWISE_HCA_FAULTS"] == "seed=1"
    assert after["LANEWISE_HCA_FAULT_LOG"] == str(build / "faults.jsonl")


def test_a_log_of_faults_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(RequestError, match=r"--fault-log .* cannot be written"):
        check(Device(("lo",), fault_log="/nowhere/faults.jsonl"), ["lo"])
    with pytest.raises(RequestError, match=r"--fault-log /tmp: it is a folder"):
        check(Device(("lo",), fault_log="/tmp"), ["lo"])
    with pytest.raises(RequestError, match=r"--pcap \.: it is a folder"):
        check(Device(("lo",), pcap="."), ["lo"])


def test_a_log_of_faults_begins_anew_unless_somebody_writes_to_it(tmp_path: Path) -> None:
    log = tmp_path / "faults.jsonl"
    empty_log(str(log))
    assert not log.exists()
    log.write_text("{}\n")

    words = ["flock", "--shared", str(log), "sh", "-c", "echo written to; read ended"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin and writer.stdout
        assert writer.stdout.readline() == b"written to\n"
        empty_log(str(log))
        assert log.read_text() == "{}\n"
        writer.stdin.close()
    empty_log(str(log))
    assert log.read_text() == ""
    empty_log("/dev/null")
    empty_log("")


def test_a_file_that_this_process_was_given_open_is_neither_judged_nor_emptied(
    tmp_path: Path,
) -> None:
    errors = tmp_path / "errors.txt"
    errors.write_text("before\n")
    with errors.open("a") as held:
        name = f"/dev/fd/{held.fileno()}"
        check(Device(fault_log=name), ["lo"])
        empty_log(name)
    assert errors.read_text() == "before\n"


def test_a_log_that_cannot_be_emptied_is_refused_by_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "faults.jsonl"
    log.write_text("{}\n")

    def refuse(file: int, length: int) -> None:  # as for a file to which one can only append
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(RequestError, match=r"--fault-log .*: it cannot be emptied: Operation not"):
        empty_log(str(log))


def test_what_exists_is_written_to_and_its_folder_need_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.pcap"
    kept.touch()
    # As for who is not root.
    refused = {"/dev", str(kept)}
    monkeypatch.setattr(
        os, "access", lambda place, mode: mode == os.F_OK or str(place) not in refused
    )

    check(Device(("lo",), fault_log="/dev/null", pcap="/dev/null"), ["lo"])
    with pytest.raises(RequestError, match=f"--pcap {kept}: {kept} cannot be written"):
        check(Device(("lo",), pcap=str(kept)), ["lo"])


def test_an_output_does_not_replace_what_is_no_such_file(tmp_path: Path) -> None:
    notes, pcap, log = (tmp_path / name for name in ("notes.txt", "packets.pcap", "faults.jsonl"))
    notes.write_text("Remember")
    pcap.write_bytes(b"\xd4\xc3\xb2\xa1 and more")
    log.write_text('{"fault": 1, "occurrence": 1}\n')
    for kept, device in (
        (notes, Device(pcap=str(notes))),
        (log, Device(pcap=str(log))),
        (notes, Device(fault_log=str(notes))),
        (pcap, Device(fault_log=str(pcap))),
    ):
        with pytest.raises(RequestError, match=f"{kept}: it is no (capture|log of faults) and wou"):
            check(device, ["lo"])
    check(Device(pcap=str(pcap), fault_log=str(log)), ["lo"])
    for earlier in (pcap, log):
        earlier.write_bytes(b"")
    check(Device(pcap=str(pcap), fault_log=str(log)), ["lo"])


def test_a_library_that_is_not_built_is_named(build: Path) -> None:
    (build / "lib" / LIBRARY).unlink()
    remedy = f"unset LANEWISE_NATIVE, which is {build}, or set it to another build"
    with pytest.raises(RequestError, match=f"{LIBRARY} is not built; {remedy}"):
        environment_for(Device(), {"LANEWISE_NATIVE": str(build)})


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        (Device(("a", "b", "c")), "name 1 or 2 different"),
        (Device(()), "name 1 or 2 different"),
        (Device(("lo", "lo")), "name 1 or 2 different"),
        (Device(("eth7",)), "--ports eth7: no such interface; use lo, eth0"),
        (Device(devices=("lo", "lo")), "--devices lo,lo: name 1 to 8 different"),
        (Device(devices=tuple("abcdefghi")), "name 1 to 8 different"),
        (Device(devices=("lo", "eth7")), "--devices eth7: no such interface; use lo, eth0"),
        (Device(("lo",), "iwarp"), "--link-layer iwarp: use ethernet or infiniband"),
        (
            Device(("lo",), lid_mask_bits=2),
            "--lmc applies only to InfiniBand ports; add --link-layer",
        ),
    ],
)
def test_a_device_that_cannot_be_is_refused(device: Device, sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        check(device, ["lo", "eth0"])


def test_devices_are_told_apart_from_ports(build: Path) -> None:
    before = {"LANEWISE_NATIVE": str(build)}
    assert variables_for(Device(("a", "b")), before)["LANEWISE_HCA_PORTS"] == "a,b"
    assert variables_for(Device(devices=("a", "b")), before)["LANEWISE_HCA_PORTS"] == "a;b"


def test_two_ports_that_exist_are_fine() -> None:
    check(Device(("lo", "eth0"), "infiniband"), ["lo", "eth0"])
