# SPDX-License-Identifier: BSD-3-Clause
"""A run that followed no rule, because there is none for its sizes, is told from other runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise.tuning import unmatched, write
from lanewise.tuning.specimen import ours, tuning

Files = tuple[Path, Path]


def files(folder: Path, calls: list[tuple[str, int, int]], ruled_bytes: int) -> Files:
    """Write a report of calls (name, first size of the range, intercepted) and a file of a rule."""
    report, rules = folder / "run.json", folder / "tuning.json"
    entries = [
        {
            "collective": name,
            "from_bytes": size,
            "to_bytes": max(0, 2 * size - 1),
            "intercepted": intercepted,
            "forwarded": 100 - intercepted,
        }
        for name, size, intercepted in calls
    ]
    report.write_text(json.dumps({"calls": entries}), encoding="utf-8")
    write.save(tuning({"scatter": {ruled_bytes: [ours("binomial")]}}), rules)
    return report, rules


def test_calls_of_other_sizes_than_those_of_all_rules_are_named_the_largest_first(
    tmp_path: Path,
) -> None:
    calls = [("barrier", 0, 0), ("allreduce", 4, 0), ("scatter", 524288, 0), ("gather", 8192, 0)]

    assert unmatched.sentence(*files(tmp_path, calls, ruled_bytes=1024)) == (
        "tuning.json has no rule for the sizes of this program: scatter from 512 KiB, gather from "
        "8 KiB, allreduce from 4 B, ...; measure them with lanewise tune --sizes"
    )


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([("scatter", 1024, 99)], id="a rule was followed"),
        pytest.param([("scatter", 1024, 0)], id="a rule is there, and something else prevented it"),
        pytest.param([], id="no collective was called"),
    ],
)
def test_nothing_is_said_where_sizes_are_not_the_reason(
    calls: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    assert unmatched.sentence(*files(tmp_path, calls, ruled_bytes=1024)) == ""
