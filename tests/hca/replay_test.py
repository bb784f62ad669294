# SPDX-License-Identifier: BSD-3-Clause
"""What lab-replay compares: logs of faults, and of what they become when they are done again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from experiments.hca.hosts import Hosts
from experiments.hca.replay import PINGPONG, Pair, replayed
from lanewise import rdma
from lanewise.rdma.lab import Lab

SEND = {"fault": 1, "occurrence": 3, "completion": "send", "what": "IBV_WC_GENERAL_ERR"}
RECEIPT = {**SEND, "completion": "receive"}


@pytest.fixture
def lab(hosts: Hosts) -> Iterator[Lab]:
    """Give a test the hosts, and end what it started there."""
    made = Lab(rdma.Hosts(hosts.bed))
    yield made
    made.close()


def test_logs_in_another_order_have_the_same_faults() -> None:
    pair = Pair((SEND, RECEIPT), (RECEIPT, SEND))
    assert pair.identical
    assert not pair.same_order


def test_a_fault_that_happened_once_more_is_a_difference() -> None:
    assert not Pair((SEND,), (SEND, SEND)).identical


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))]
)
def test_a_replay_has_the_faults_of_its_seed(lab: Lab, seed: int) -> None:
    if shutil.which(PINGPONG[0]) is None:
        pytest.skip(f"no {PINGPONG[0]} here; install ibverbs-utils")
    pair = replayed(lab, seed)
    assert pair.identical, pair
    assert pair.first
