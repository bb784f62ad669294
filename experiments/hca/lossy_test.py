# SPDX-License-Identifier: BSD-3-Clause
"""The goodput of the device beside that of TCP, from what the rounds gave on a link."""

from __future__ import annotations

import pytest

from experiments.hca.lossy import BBR, CUBIC, DEVICE, Link


def test_the_ratio_is_of_the_medians_and_each_round_has_its_own() -> None:
    link = Link()
    link.gbps = {DEVICE: [1.0, 2.0, 6.0], CUBIC: [4.0, 1.0, 8.0], BBR: [8.0, 8.0, 8.0]}

    assert link.ratio(CUBIC) == 0.5
    assert link.ratios(CUBIC) == [0.25, 2.0, 0.75]
    assert link.ratio(BBR) == 0.25


def test_the_share_of_packets_sent_again_is_of_each_stream() -> None:
    link = Link()
    link.counters = [
        {"packets_sent": 200, "packets_resent": 2},
        {"packets_sent": 100, "packets_resent": 5},
    ]

    assert link.resent == [2.0, 5.0]
    assert link.resent_percent == pytest.approx([1.0, 5.0])
