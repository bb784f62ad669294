# SPDX-License-Identifier: BSD-3-Clause
"""The tables that `measure --as` prints read back as what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanewise.imports.load import load
from lanewise.suite.printed_as import Layout, tables
from lanewise.suite.printed_as_test import pair


@pytest.mark.parametrize(
    ("definition", "operation"),
    [("imb", "pingpong"), ("imb", "bcast"), ("imb", "sendrecv"), ("osu", "pingpong"),
     ("imb", "overlapped_iallreduce"), ("osu", "bcast"), ("osu", "streaming"),
     ("osu", "bidirectional"), ("osu", "pairs_pingpong"), ("osu", "persistent_pingpong"),
     ("osu", "put_streaming_both_pscw"), ("osu", "get_accumulate_lock"), ("osu", "put_flush")],
)  # fmt: skip
def test_a_printed_table_reads_back_as_it_was_measured(
    definition: str, operation: str, tmp_path: Path
) -> None:
    pairs = [pair(definition, operation, size, 1e-5 + size * 1e-9) for size in (1000, 4000)]
    path = tmp_path / "printed.txt"
    path.write_text("\n".join(tables(Layout(definition, 2), pairs)) + "\n")

    read = load(path, 2)

    assert [(one.operation, one.message_bytes) for one in read.points] == [
        (operation, 1000), (operation, 4000),
    ]  # fmt: skip
    assert [one.mean_s for one in read.points] == pytest.approx([1.1e-5, 1.4e-5], rel=0.01)


def test_an_overlap_that_imb_printed_keeps_the_work_and_the_collective_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "printed.txt"
    pairs = [pair("imb", "overlapped_ibarrier", 0, 2e-6)]
    path.write_text("\n".join(tables(Layout("imb", 4), pairs)) + "\n")

    point = load(path).points[0]

    assert (point.mean_s, point.pure_s, point.work_s) == pytest.approx((2e-6, 6e-6, 8e-6))


def test_a_one_sided_table_with_another_synchronisation_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    lines = [
        *tables(Layout("osu", 2), [pair("osu", "put_flush", 8, 2e-6)]),
        *tables(Layout("osu", 2), [pair("osu", "pingpong", 8, 2e-6)]),
    ]
    path.write_text("\n".join(lines).replace("MPI_Win_flush", "MPI_Win_fence") + "\n")

    read = load(path)

    assert [one.operation for one in read.points] == ["pingpong"]
    assert any("with MPI_Win_fence is left out" in note for note in read.context.imported["notes"])


def test_netpipe_prints_half_a_round_trip_and_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "netpipe.out"
    pairs = [pair("netpipe", "pingpong", 4096, 2e-6)]
    path.write_text("\n".join(tables(Layout("netpipe", 2), pairs)) + "\n")

    assert load(path).points[0].mean_s == pytest.approx(2e-6, rel=0.01)
