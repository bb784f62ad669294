# SPDX-License-Identifier: BSD-3-Clause
"""Tables as other tools print them; that they read back is a test of imports."""

from __future__ import annotations

from dataclasses import replace

from lanewise.results import specimen
from lanewise.results.launches import together
from lanewise.results.records import Point, parse_record
from lanewise.suite.parity import PARITIES
from lanewise.suite.printed_as import OSU_TITLES, Layout, differences, tables


def point(operation: str, size: int, time_s: float, definition: str = "") -> Point:
    """Return a point of that time; work that a loop overlaps takes four times as long."""
    loop = {"definition": definition, "calls": 1000, "min_s": time_s / 2, "max_s": time_s * 2}
    if operation.startswith("overlapped_"):
        loop |= {"pure_s": 3 * time_s, "work_s": 4 * time_s}
    record = specimen.point_record(operation, size, [time_s] * 10, **(loop if definition else {}))
    del record["record"]
    return parse_record(Point, record)


def pair(definition: str, operation: str, size: int, time_s: float) -> tuple[Point, Point]:
    """Return an isolated point that takes twice as long as the loop's."""
    return point(operation, size, 2 * time_s), point(operation, size, time_s, definition)


def test_the_size_of_reduce_scatter_is_the_whole_vector_for_osu() -> None:
    rows = list(tables(Layout("osu", 4), [pair("osu", "reduce_scatter", 256, 1e-6)]))

    assert rows[3].split() == ["1024", "1.00"]


def test_imb_takes_the_bandwidth_of_the_slowest_rank() -> None:
    rows = list(tables(Layout("imb", 2), [pair("imb", "sendrecv", 1000, 1e-5)]))

    assert rows[5].split() == ["1000", "1000", "5.00", "20.00", "10.00", "100.00"]


def test_imb_prints_the_work_within_the_time_and_the_overlap_as_a_share_of_the_longer() -> None:
    lines = list(tables(Layout("imb", 2), [pair("imb", "overlapped_ibcast", 64, 1e-6)]))

    assert lines[1:3] == ["# Benchmarking Ibcast ", "# #processes = 2 "]
    assert lines[4] == (
        "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]"
    )
    assert lines[5].split() == ["64", "1000", "5.00", "3.00", "4.00", "50.00"]


def test_beside_an_overlap_of_imb_stands_what_the_collective_adds_to_the_work() -> None:
    lines = list(differences(Layout("imb", 2), [pair("imb", "overlapped_ibcast", 64, 1e-6)]))

    assert lines[0].startswith("# IMB's t_ovrl - t_CPU beside isolated repetitions")
    assert lines[-1].split() == ["#", "64", "1.00", "2.00", "2.00"]


def test_what_isolated_repetitions_take_stands_in_comments_with_the_ratio() -> None:
    lines = list(differences(Layout("osu", 2), [pair("osu", "bcast", 8, 1e-6)]))

    assert all(line.startswith("#") for line in lines)
    assert lines[-1].split() == ["#", "8", "1.00", "2.00", "2.00"]


def test_the_comments_say_where_all_is_of_a_single_launch() -> None:
    isolated, looped = pair("osu", "bcast", 8, 1e-6)
    several = together([looped, replace(looped, launch=2)], {})

    first, *_ = differences(Layout("osu", 2), [(isolated, looped)])
    assert first.endswith("has finished (1 launch):")
    first, *_ = differences(Layout("osu", 2), [(isolated, several)])
    assert first.endswith("has finished:")


def test_every_title_of_osu_is_of_a_benchmark_that_is_listed() -> None:
    assert set(OSU_TITLES) <= {one.benchmark for one in PARITIES if one.suite == "OSU"}
