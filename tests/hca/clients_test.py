# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified verbs programs between two hosts: those of rdma-core, perftest, qperf, UCX, MPIs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.hca import lossy as hca_lossy
from experiments.hca.clients import CLIENTS, MPIS, Client, Mpi, try_client, try_mpi
from experiments.hca.hosts import ADDRESS, Hosts
from experiments.hca.probes import PROBES, Probe
from lanewise.testbed import bed
from lanewise.testbed.bed import Source

# The same operation with another option, or on another kind of connection, as daily tests.
REPEATING = {
    "ib_send_lat -c UC", "ib_send_bw -e", "ib_write_bw -c UC", "ib_write_lat -c UC",
    "ib_read_lat -e", "ib_read_bw -e", "ib_atomic_lat -e", "ib_atomic_bw -e",
    "qperf uc, ud", "ucx_perftest tag_lat over ud_verbs",
}  # fmt: skip
LARGEST_BYTES = 2**30
# One of each kind; lanewise reproduce hca-clients tries all of them with loss.
WITH_LOSS = ("ibv_rc_pingpong", "ib_send_bw -e", "ib_read_bw", "ib_atomic_bw", "qperf rc")


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Raise two hosts at the ends of a link that loses and reorders packets."""
    options = hca_lossy.device_options(tmp_path_factory.mktemp("lossy"))
    with bed.created(
        Source(hca_lossy.description(hca_lossy.LOSS), "lossy", "lossy.toml")
    ) as raised:
        yield Hosts(raised, options, caller=hca_lossy.CALLER)


def often(client: Client) -> list[pytest.MarkDecorator]:
    return [pytest.mark.thorough] if client.name in REPEATING else []


@pytest.mark.parametrize(
    "client", [pytest.param(one, id=one.name, marks=often(one)) for one in CLIENTS]
)
def test_a_client_runs_and_shows_its_result(hosts: Hosts, client: Client) -> None:
    if shutil.which(client.caller[0]) is None:
        pytest.skip(f"no {client.caller[0]} here; install {client.package}")
    assert try_client(hosts, client) == ""


@pytest.mark.parametrize(
    "client", [one for one in CLIENTS if one.name in WITH_LOSS], ids=lambda client: client.name
)
def test_a_client_runs_over_a_link_that_loses_and_reorders(lossy: Hosts, client: Client) -> None:
    if shutil.which(client.caller[0]) is None:
        pytest.skip(f"no {client.caller[0]} here; install {client.package}")
    assert try_client(lossy, client) == ""


@pytest.mark.thorough
def test_ib_write_lat_takes_messages_of_all_sizes(hosts: Hosts) -> None:
    words = ("ib_write_lat", "-a", "-n", "20", "-x", "0", "-F", "-u", "20")
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here; install perftest")
    said = replace(hosts, limit_s=300).pair(words, [*words, ADDRESS])
    assert said.good, said
    sizes = [line.split()[0] for line in said.caller.splitlines() if line[:2].strip().isdigit()]
    assert sizes == [str(2**power) for power in range(1, 24)], said


# One at a time, since each has 4 GiB of memory, which it fills with random bytes, one by one.
@pytest.mark.xdist_group("large messages")
@pytest.mark.thorough
@pytest.mark.parametrize(
    "program",
    # The first posts more packets at once than there are sequence numbers.
    ["ib_write_bw -m 256", "ib_read_bw", "ib_send_bw", "ib_write_lat"],
)
def test_perftest_moves_messages_of_the_largest_size(hosts: Hosts, program: str) -> None:
    words = (*program.split(), "-s", str(LARGEST_BYTES), "-n", "5", "-x", "0", "-F", "-u", "20")
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here; install perftest")
    said = replace(hosts, limit_s=1200).pair(words, [*words, ADDRESS])
    assert said.good, said
    assert re.search(rf"^ {LARGEST_BYTES} +5 ", said.caller, re.MULTILINE), said


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_an_mpi_carries_every_byte(tmp_path: Path, mpi: Mpi) -> None:
    if shutil.which(mpi.compiler) is None:
        pytest.skip(f"no {mpi.compiler} here")
    assert try_mpi(mpi, tmp_path, "two-port", Hosts.options) == ""


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_program_with_one_end_shows_what_it_should(hosts: Hosts, probe: Probe) -> None:
    if not Path(probe.file).exists():
        pytest.skip(f"no {probe.file} here; install {probe.package}")
    assert probe.why_not(hosts) == ""
