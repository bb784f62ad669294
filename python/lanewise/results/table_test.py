# SPDX-License-Identifier: BSD-3-Clause
"""Tables keep the form that scripts for OSU output read."""

from pathlib import Path
from typing import Any

from lanewise.results import specimen, table
from lanewise.results.read import load
from lanewise.results.records import Point, parse_record


def point(**changes: Any) -> Point:
    values = specimen.point_record("scatter", 1024, [1.5e-6] * 10, **changes)
    del values["record"]
    return parse_record(Point, values)


def test_a_heading_is_laid_out_as_osu_does() -> None:
    heading = table.heading(point(), "median")

    assert heading == (
        "# Size    Median Latency(us)           Low(us)          High(us)              Reps"
    )


def test_a_row_has_the_size_left_and_microseconds_with_two_decimals() -> None:
    row = table.row(point(), "median")

    assert (
        row == "1024                    1.50              1.50              1.50                10"
    )


def test_the_paper_rule_shows_the_mean() -> None:
    assert "Mean Latency(us)" in table.heading(point(), "student")
    assert table.row(point(mean_s=9e-6), "student").split()[1] == "9.00"


def test_a_pair_names_its_ranks_and_both_sizes() -> None:
    row = table.row(point(peer=3, reply_bytes=0), "median")

    assert row.split()[:3] == ["0-3", "1024", "0"]


def test_the_heading_of_pairs_keeps_its_columns_apart() -> None:
    heading = table.heading(point(peer=3, reply_bytes=0), "median")

    assert heading.split() == [
        "#",
        "Pair",
        "Size",
        "Reply",
        "Median(us)",
        "Low(us)",
        "High(us)",
        "Reps",
    ]


def test_a_triplet_names_three_ranks() -> None:
    assert table.row(point(peer=3, second_peer=5), "median").startswith("0-3,5")


def test_no_interval_is_a_dash() -> None:
    assert table.row(point(low_s=None, high_s=None), "median").split()[2:4] == ["-", "-"]


def test_each_operation_has_a_table_of_its_own(tmp_path: Path) -> None:
    lines = specimen.records(operations=("scatter", "gather"), sizes_bytes=[8, 16])
    samples = load(specimen.write(tmp_path / "samples.jsonl", lines))

    shown = list(table.tables(samples.points, samples.context))

    assert sum(line.startswith("# Size") for line in shown) == 2
    assert len(shown) == 2 * 4 + 1


def test_a_point_without_a_time_stands_with_the_others(tmp_path: Path) -> None:
    lines = specimen.launched_records(3, sizes_bytes=[8, 16])
    nothing = dict.fromkeys(("median_s", "low_s", "high_s", "mean_s"))
    for line in lines:
        if line.get("message_bytes") == 8:
            line |= {**nothing, "samples_s": []}
    samples = load(specimen.write(tmp_path / "samples.jsonl", lines))

    shown = list(table.tables(samples.points, samples.context))

    assert shown[0].endswith(", 3 launches")
    assert [row.split()[0] for row in shown[2:]] == ["8", "16"]


def test_points_of_a_single_launch_have_a_table_of_their_own(tmp_path: Path) -> None:
    lines = specimen.launched_records(3, sizes_bytes=[8, 16, 32])
    # Three launches have 8 B, two 16 B, and one 32 B.
    path = specimen.write(tmp_path / "samples.jsonl", [*lines[:6], lines[7]])
    samples = load(path)

    first, second = "\n".join(table.tables(samples.points, samples.context)).split("\n\n")

    assert first.splitlines()[0].endswith(", 2 to 3 launches")
    assert [row.split()[0] for row in first.splitlines()[2:]] == ["8", "16"]
    assert second.splitlines()[0].endswith(", 1 launch")
    assert [row.split()[0] for row in second.splitlines()[2:]] == ["32"]
