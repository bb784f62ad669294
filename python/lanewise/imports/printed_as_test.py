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
     ("osu", "bcast"), ("osu", "streaming"), ("osu", "bidirectional")],
)  # fmt: skip
def test_a_printed_table_reads_back_as_it_was_measured(
    definition: str, operation: str, tmp_path: Path
) -> None:
    pairs = [pair(definition, operation, size, 1e-5 + size * 1e-9) for size in (1000, 4000)]
    path = tmp_path / "printed.txt"
    path.write_text("\n".join(tables(Layout(definition, 2), pairs)) + "\n")

    read = load(path, 2)

    assert [one.message_bytes for one in read.points] == [1000, 4000]
    assert [one.mean_s for one in read.points] == pytest.approx([1.1e-5, 1.4e-5], rel=0.01)


def test_netpipe_prints_half_a_round_trip_and_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "netpipe.out"
    pairs = [pair("netpipe", "pingpong", 4096, 2e-6)]
    path.write_text("\n".join(tables(Layout("netpipe", 2), pairs)) + "\n")

    assert load(path).points[0].mean_s == pytest.approx(2e-6, rel=0.01)
