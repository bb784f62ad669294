# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified verbs programs between two hosts: those of rdma-core, perftest, qperf, UCX, MPIs."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest

from lanewise.reproduce.hca_clients import CLIENTS, MPIS, Client, Mpi, try_client, try_mpi
from lanewise.reproduce.hca_hosts import CALLER, LISTENER, Hosts, stop

PYVERBS_TESTS = Path("/usr/share/doc/rdma-core/tests")
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_runs_and_shows_its_result(hosts: Hosts, client: Client) -> None:
    if shutil.which(client.caller[0]) is None:
        pytest.skip(f"no {client.caller[0]} here; install {client.package}")
    assert try_client(hosts, client) == ""


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_an_mpi_carries_every_byte(tmp_path: Path, mpi: Mpi) -> None:
    if shutil.which(mpi.compiler) is None:
        pytest.skip(f"no {mpi.compiler} here")
    assert try_mpi(mpi, tmp_path) == ""


def test_ucx_finds_its_transports_on_the_device(hosts: Hosts) -> None:
    if shutil.which("ucx_info") is None:
        pytest.skip("no ucx_info here; install ucx-utils")
    shown = hosts.run(LISTENER, ["ucx_info", "-d"]).stdout
    assert {"rc_verbs", "ud_verbs"} <= set(re.findall(r"Transport: (\w+)", shown))


def test_a_program_that_waits_for_events_hears_of_a_pulled_cable(hosts: Hosts) -> None:
    if shutil.which("ibv_asyncwatch") is None:
        pytest.skip("no ibv_asyncwatch here; install ibverbs-utils")
    watching = hosts.start(CALLER, ["stdbuf", "-oL", "ibv_asyncwatch", "-d", "lanewise0"])
    assert watching.stdout is not None
    assert "async event FD" in watching.stdout.readline()
    hosts.pull(CALLER, "lan1")
    assert "IBV_EVENT_PORT_ERR (10), port 2" in watching.stdout.readline()
    hosts.plug(CALLER, "lan1")
    assert "IBV_EVENT_PORT_ACTIVE (9), port 2" in watching.stdout.readline()
    stop(watching)
    watching.communicate()


def test_the_tests_of_pyverbs_pass_or_say_what_the_device_has_not(
    hosts: Hosts, tmp_path: Path
) -> None:
    if not PYVERBS_TESTS.is_dir():
        pytest.skip("no tests of pyverbs here; install python3-pyverbs")
    folder = tmp_path / "tests"
    folder.mkdir()
    for path in PYVERBS_TESTS.iterdir():
        if path.suffix == ".gz":
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copy(path, folder)
    words = [SYSTEM_PYTHON, str(folder / "run_tests.py"), "--dev", "lanewise0", "-v"]
    said = hosts.run(LISTENER, words).stdout
    assert not re.findall(r".*\.\.\. (?:FAIL|ERROR)", said), said
    assert len(re.findall(r"\.\.\. ok$", said, re.MULTILINE)) >= 70
