# SPDX-License-Identifier: BSD-3-Clause
"""Tables as other tools print them; that they read back is a test of imports."""

from __future__ import annotations

from lanewise.results import specimen
from lanewise.results.records import Point, parse_record
from lanewise.suite.parity import PARITIES
from lanewise.suite.printed_as import OSU_TITLES, Layout, differences, tables


def point(operation: str, size: int, time_s: float, definition: str = "") -> Point:
    """Return a point of that time."""
    loop = {"definition": definition, "calls": 1000, "min_s": time_s / 2, "max_s": time_s * 2}
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


def test_what_isolated_repetitions_take_stands_in_comments_with_the_ratio() -> None:
    lines = list(differences(Layout("osu", 2), [pair("osu", "bcast", 8, 1e-6)]))

    assert all(line.startswith("#") for line in lines)
    assert lines[-1].split() == ["#", "8", "1.00", "2.00", "2.00"]


def test_every_title_of_osu_is_of_a_benchmark_that_is_listed() -> None:
    assert set(OSU_TITLES) <= {one.benchmark for one in PARITIES if one.suite == "OSU"}
