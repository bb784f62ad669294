# SPDX-License-Identifier: BSD-3-Clause
"""Programs that find each other by the connection manager: between two hosts, and on one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from compiling import compiled

from experiments.hca.connections import CLIENTS, Client, try_client
from experiments.hca.hosts import CALLER, LISTENER, Hosts
from lanewise.hca.device import CONNECTION_MANAGER, find_library

# One of each kind; lanewise reproduce hca-cm tries all of them.
EACH_KIND = ("rping", "udaddy", "ucmatose of 20 connections", "rdma_client", "mckey",
             "ib_send_lat -R", "rstream", "fi_pingpong -p verbs", "UCX by rdmacm")  # fmt: skip
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
IMPORTERS = (
    (Path("/usr/bin"), ("rping", "ucmatose", "udaddy", "mckey", "cmtime", "rdma_*", "r*stream")),
    (Path("/usr/bin"), ("rcopy", "ib_*", "qperf")),
    (LIBRARIES, ("libfabric.so.1", "ucx/libuct_rdmacm.so")),
    (Path("/usr/lib/python3/dist-packages/pyverbs"), ("**/*.so",)),
)
_IMPORTED = re.compile(r"\bU (\w+@RDMACM_[\d.]+)")
_EXPORTED = re.compile(r"\bT (\w+)@@?(RDMACM_[\d.]+)")


@pytest.mark.parametrize(
    "client", [one for one in CLIENTS if one.name in EACH_KIND], ids=lambda client: client.name
)
def test_a_client_finds_its_peer_on_another_host(hosts: Hosts, client: Client) -> None:
    if client.is_missing:
        pytest.skip(f"no {client.name} here; install {client.package}")
    assert try_client(hosts, client) == ""


def test_two_processes_of_one_host_find_each_other(hosts: Hosts) -> None:
    (rping,) = (client for client in CLIENTS if client.name == "rping")
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    assert try_client(replace(hosts, caller=LISTENER), rping) == ""


def test_where_nobody_listens_the_caller_hears_it_at_once(hosts: Hosts) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    said = hosts.run(CALLER, ["rping", "-c", "-a", "10.1.0.2", "-C", "1"])
    assert said.returncode != 0
    assert "RDMA_CM_EVENT_REJECTED, error 8" in said.stdout


def test_an_address_without_a_route_is_an_error_of_the_address(hosts: Hosts) -> None:
    if shutil.which("rping") is None:
        pytest.skip("no rping here; install rdmacm-utils")
    said = hosts.run(CALLER, ["rping", "-c", "-a", "10.99.0.1", "-C", "1"])
    assert said.returncode != 0
    assert "RDMA_CM_EVENT_ADDR_ERROR, error -101" in said.stdout


def symbols(path: Path) -> str:
    words = ["nm", "-D", str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_every_symbol_that_a_client_imports_is_there() -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm here; install binutils")
    library = find_library(CONNECTION_MANAGER, os.environ)
    exported = {f"{name}@{node}" for name, node in _EXPORTED.findall(symbols(library))}
    paths = {path for folder, globs in IMPORTERS for glob in globs for path in folder.glob(glob)}
    wanted = {path: set(_IMPORTED.findall(symbols(path))) for path in paths}
    assert any(wanted.values()), "no client of librdmacm is installed"
    missing = {path: sorted(names - exported) for path, names in wanted.items()}
    assert not {path: names for path, names in missing.items() if names}


PROMISES = {
    "end": "a caller is heard while the process that listens ends",
    "kinds": "who asks for another kind of queue pair than a service has is rejected",
    "private": "private data that is too long is refused",
    "child": "a child takes nothing from its parent, and has listeners of its own",
    "order": "an identifier is resolved and connected in order, with what that takes",
    "any": "0.0.0.0 is the address that the caller has",
    "timeout": "a time for acknowledgements that is too long is refused",
    "moved": "an identifier moves when its events have been acknowledged",
    "pending": "a request that nobody has taken moves with its listener",
    "busy": "a process that ends in the middle of its calls tells its peers",
    "claims": "a port number is either of all addresses or of single ones",
    "scarce": "a channel without a descriptor is not made",
    "late": "a message waits for a receive that is posted late, as long as on a card",
    "grants": "as many reads are granted as the peer offers",
    "backlog": "requests that were taken leave room in the backlog, and show their path",
    "errors": "an identifier resolves another address after an error, or gets its path set",
    "connecting": "a call that is not answered yet may be disconnected",
    "sender": "who only sends to a group does not receive from it",
    "unread": "two streams with unread messages close",
    "half": "two streams with unread messages may end their sending, and are read to the end",
    "behind": "a reader that is behind holds its sender up for moments",
    "interrupt": "a signal ends a wait for streams",
    "pieces": "a read into several pieces returns with what is there",
}


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Compile the program that tries what is promised."""
    return compiled("connecting", tmp_path, "rdmacm")


@pytest.mark.parametrize("promise", PROMISES, ids=PROMISES.values())
def test_what_the_manual_of_connections_promises_is_kept(
    hosts: Hosts, program: str, promise: str
) -> None:
    over_loopback = Hosts(hosts.bed, ["--ports", "lo"])
    done = over_loopback.run(LISTENER, [program, promise])
    assert done.returncode == 0, done.stdout


def test_no_message_of_a_connection_leaves_a_device_that_has_failed(
    hosts: Hosts, program: str, tmp_path: Path
) -> None:
    script = tmp_path / "faults.toml"
    script.write_text('[[fault]]\npacket = "send"\naction = "device_fatal"\ntimes = 1\n')
    options = ["--ports", "lo", "--faults", str(script)]
    done = Hosts(hosts.bed, options).run(LISTENER, [program, "failed"])
    assert done.returncode == 0, done.stdout


def test_a_request_that_makes_no_sense_is_rejected_before_it_comes_again(
    hosts: Hosts, program: str, tmp_path: Path
) -> None:
    script, log = tmp_path / "faults.toml", tmp_path / "faults.jsonl"
    script.write_text('[[fault]]\nconnection = "request"\naction = "ignore"\nafter = 1\n')
    options = ["--ports", "lo", "--faults", str(script), "--fault-log", str(log)]
    done = Hosts(hosts.bed, options).run(LISTENER, [program, "kinds"])
    assert done.returncode == 0, done.stdout
    assert not log.exists() or log.read_text() == ""
