# SPDX-License-Identifier: BSD-3-Clause
"""The three modules, called by a program itself through the C interface."""

from __future__ import annotations

import time

import pytest

from experiments.hca.hosts import Hosts
from experiments.migration.two_ports import LIMIT_S, exchange, slope_and_r2
from lanewise.errors import RunError


def test_queue_pairs_are_armed_and_migrate_as_often_as_they_are_told(hosts: Hosts) -> None:
    said = exchange(hosts.bed, ["--transitions", "1,16", "--rounds", "3"]).caller
    assert [one["queue_pairs"] for one in said] == [1, 16]
    assert all(one["armed_s"] > 0 and one["migrated_s"] > 0 for one in said)


def test_a_caller_that_fails_ends_its_listener(hosts: Hosts) -> None:
    begin_s = time.monotonic()

    with pytest.raises(RunError, match="--nonsense"):
        exchange(hosts.bed, ["--seconds", "1"], at_caller=["--nonsense"])

    assert time.monotonic() - begin_s < float(LIMIT_S) / 10


def test_a_line_explains_all_of_itself() -> None:
    assert slope_and_r2([1, 2, 4], [3, 5, 9]) == (2.0, 1.0)
