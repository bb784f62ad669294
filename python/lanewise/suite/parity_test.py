# SPDX-License-Identifier: BSD-3-Clause
"""Definitions of other suites, applied to known samples; and the guide has the whole table."""

from pathlib import Path

import pytest

from lanewise.results import specimen
from lanewise.results.read import load
from lanewise.suite.parity import PARITIES, Definition, markdown, parity_of, rows_of

GUIDE = Path(__file__).parents[3] / "docs" / "suite.md"


def test_the_guide_has_every_row() -> None:
    assert markdown() in GUIDE.read_text(encoding="utf-8")


def test_no_benchmark_is_named_twice() -> None:
    names = [(one.suite, one.benchmark) for one in PARITIES]

    assert len(names) == len(set(names))


def test_what_we_have_not_says_why() -> None:
    assert all(one.differs for one in PARITIES if not one.kernel)


@pytest.mark.parametrize(
    ("definition", "kernel", "size", "expected"),
    [
        ("imb", "pingpong", 1000, "100.00"),
        ("imb", "sendrecv", 1000, "200.00"),
        ("imb", "exchange", 1000, "400.00"),
        ("osu", "streaming", 1000, "100.00"),
        ("osu", "bidirectional", 1000, "200.00"),
    ],
)
def test_the_bandwidth_is_counted_as_they_count_it(
    tmp_path: Path, definition: Definition, kernel: str, size: int, expected: str
) -> None:
    records = [specimen.context_record(), specimen.point_record(kernel, size, [1e-5] * 10)]
    samples = load(specimen.write(tmp_path / "samples.jsonl", records))

    assert list(rows_of(samples, definition))[-1].split()[2] == expected


def test_the_time_is_the_mean() -> None:
    found = parity_of("osu", "pingpong")

    assert found is not None
    assert found.benchmark == "osu_latency"


def test_a_kernel_that_a_suite_lacks_is_said(tmp_path: Path) -> None:
    records = [specimen.context_record(), specimen.point_record("partitioned", 8, [1e-5] * 10)]
    samples = load(specimen.write(tmp_path / "samples.jsonl", records))

    assert list(rows_of(samples, "imb")) == ["# partitioned: IMB has no such benchmark"]
