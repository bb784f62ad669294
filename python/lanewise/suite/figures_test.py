# SPDX-License-Identifier: BSD-3-Clause
"""Everything that a suite measures is on its page, whether the paper has a figure of it or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.results import specimen
from lanewise.suite import figures, page, state
from lanewise.suite.pool import Key, Pool, Pooled

TRANSPORTS = ("openmpi-shm", "openmpi-tcp")


def point(median_s: float) -> Pooled:
    return Pooled([median_s] * 20, [median_s] * 2)


def pool_of(benchmark: str, *sizes: int, slower: float = 2.0) -> Pool:
    return {
        Key(transport, benchmark, size): point(1e-6 * slower**index)
        for index, transport in enumerate(TRANSPORTS)
        for size in sizes
    }


def suite_in(folder: Path, *benchmarks: tuple[str, tuple[int, ...]]) -> state.State:
    """Return a suite in `folder` in which both transports were measured."""
    asked = state.Asked(2, "quick", TRANSPORTS, tuple(name for name, _ in benchmarks), 160, 1, 2)
    known = state.State(asked, "2026-11-21T19:00:00Z", elapsed_s=200.0)
    (folder / state.SAMPLES).mkdir()
    for index, transport in enumerate(TRANSPORTS):
        known.transports[transport] = state.TransportState(transport)
        for name, sizes in benchmarks:
            context = {"transport": transport, "ranks": 2}
            records = specimen.records([name], sizes, 1, 1.0 + index, context)
            launch = f"{transport}.{name}.1"
            specimen.write(folder / state.SAMPLES / f"{launch}.jsonl", records)
            known.launches[launch] = ""
    return known


def test_a_benchmark_that_is_not_of_the_paper_has_a_figure_of_time() -> None:
    (figure,) = figures.figures_of(pool_of("reduce", 8, 4096), TRANSPORTS)

    assert (figure["title"], figure["paper"], figure["y"]["unit"]) == ("reduce", "", "time")
    assert [curve["label"] for curve in figure["curves"]] == [*TRANSPORTS]
    assert figure["curves"][0]["x"] == [8, 4096]


def test_such_a_benchmark_is_ranked_at_its_smallest_and_largest_size() -> None:
    rankings = figures.rankings_of(pool_of("reduce", 8, 512, 4096))

    assert [one["title"] for one in rankings] == ["reduce at 8 B", "reduce at 4 KiB"]
    assert [row["transport"] for row in rankings[0]["rows"]] == [*TRANSPORTS]


def test_times_that_are_not_positive_are_not_ranked() -> None:
    assert figures.rankings_of(pool_of("overlapped_ibcast", 8, slower=-1.0)) == []


def test_a_benchmark_without_a_size_is_a_number() -> None:
    pool = pool_of("barrier", 0)

    (numbers,) = figures.numbers_of(pool)

    assert figures.figures_of(pool, TRANSPORTS) == []
    assert numbers["title"] == "barrier"
    assert [row["value"] for row in numbers["rows"]] == ["1.00 µs", "2.00 µs"]


@pytest.mark.parametrize(
    ("benchmarks", "count"),
    [((("reduce", (8, 4096)), ("barrier", (0,))), 1), ((("barrier", (0,)),), 0)],
)
def test_a_page_is_written_where_nothing_is_of_the_paper(
    benchmarks: tuple[tuple[str, tuple[int, ...]], ...], count: int, tmp_path: Path
) -> None:
    written = page.write_page(tmp_path, suite_in(tmp_path, *benchmarks))

    text = written.path.read_text(encoding="utf-8")
    assert written.figures == count
    assert ">barrier</h3>" in text
    assert "InfiniPath and XD1" not in text


def test_a_page_counts_a_point_of_several_rounds_once(tmp_path: Path) -> None:
    known = suite_in(tmp_path, ("pingpong", (8, 512)))
    for transport in TRANSPORTS:
        first = tmp_path / state.SAMPLES / f"{transport}.pingpong.1.jsonl"
        first.with_name(f"{transport}.pingpong.2.jsonl").write_bytes(first.read_bytes())
        known.launches[f"{transport}.pingpong.2"] = ""

    text = page.write_page(tmp_path, known).path.read_text(encoding="utf-8")

    assert "4 points between 2 ranks on " in text
    assert "in 2 rounds, which took 3.3 minutes." in text
    assert "with its 95 % interval over rounds." in text


def test_a_page_of_one_round_says_that_its_intervals_are_within_it(tmp_path: Path) -> None:
    known = suite_in(tmp_path, ("pingpong", (8,)))
    known.asked = replace(known.asked, rounds=3)  # the budget was over after the first

    text = page.write_page(tmp_path, known).path.read_text(encoding="utf-8")

    assert "in 1 round, which took 3.3 minutes." in text
    assert "interval within it, which says nothing about the next." in text


def test_a_page_says_that_some_intervals_are_of_one_round() -> None:
    assert page.intervals_of([2, 3]) == page.OVER_ROUNDS
    assert "one round only" in page.intervals_of([3, 1])
    assert page.intervals_of([]) == page.OF_ONE_ROUND
