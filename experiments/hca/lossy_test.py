# SPDX-License-Identifier: BSD-3-Clause
"""The goodput of the device beside that of TCP, from what the rounds gave on a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hca.lossy import (
    BBR,
    CUBIC,
    DEVICE,
    EXPERIMENT,
    LOSS,
    ROUNDS,
    Link,
    outcome,
    stream_of,
)
from experiments.run import Finished
from experiments.workspace import Workspace
from lanewise.errors import RunError

TABLE = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]\n"


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [(1, "Unable to find the Infiniband/RoCE device", "Unable to find"),
     (0, f"{TABLE} 65536      100   0.9    0.8   0.001\n", "no counters")],
    ids=["set-up", "counters"],
)  # fmt: skip
def test_a_stream_that_never_began_or_was_not_counted_is_an_error(
    status: int, said: str, why: str
) -> None:
    with pytest.raises(RunError, match=why):
        stream_of(status, said, {})


def test_a_stream_that_was_killed_has_begun_if_it_was_counted() -> None:
    counters = {"packets_sent": 200, "packets_resent": 2}

    killed = stream_of(139, "", counters)

    assert (killed.gbps, killed.counters) == (0.0, counters)
    assert killed.died == "ib_write_bw ended with status 139: "
    with pytest.raises(RunError, match="status 139"):
        stream_of(139, "", {})


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


def test_a_stream_that_died_is_kept_as_one_that_carried_nothing(tmp_path: Path) -> None:
    counters = {"packets_sent": 200, "packets_resent": 2}
    good = stream_of(0, f"{TABLE} 65536      100   0.9    0.8   0.001\n", counters)
    dead = stream_of(1, f"{TABLE}Completion with error 12", {})
    link = Link()
    link.gbps |= {CUBIC: [0.2] * ROUNDS, BBR: [0.4] * ROUNDS}
    for one in [good] + [dead] * (ROUNDS - 1):
        link.add(one)

    found = outcome(Workspace(tmp_path), {LOSS: link}, validated=True)

    assert good.gbps == 0.8
    assert found.figures["goodput_over_tcp"] == 0
    assert found.figures["streams_died"] == ROUNDS - 1
    assert not {"retries", "resent_percent"} & found.figures.keys()  # never told as 0
    finished = Finished(EXPERIMENT, found)
    assert finished.faults == []
    assert "streams_died" in {one.figure.name for one in finished.judged if not one.met}
    assert len(found.notes) == ROUNDS - 1
    assert "Completion with error 12" in found.notes[0]
