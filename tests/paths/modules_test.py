# SPDX-License-Identifier: BSD-3-Clause
"""The three modules, called by a program itself through the C interface."""

from __future__ import annotations

from experiments.hca.hosts import Hosts
from experiments.migration.two_ports import exchange, slope_and_r2


def test_queue_pairs_are_armed_and_migrate_as_often_as_they_are_told(hosts: Hosts) -> None:
    said = exchange(hosts.bed, ["--transitions", "1,16", "--rounds", "3"]).caller
    assert [one["queue_pairs"] for one in said] == [1, 16]
    assert all(one["armed_s"] > 0 and one["migrated_s"] > 0 for one in said)


def test_a_line_explains_all_of_itself() -> None:
    assert slope_and_r2([1, 2, 4], [3, 5, 9]) == (2.0, 1.0)
