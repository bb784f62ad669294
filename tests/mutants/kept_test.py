# SPDX-License-Identifier: BSD-3-Clause
"""What mutation runs gave is kept as it was, and the guide shows all of it."""

from __future__ import annotations

import re
from pathlib import Path

from kept import Judged, append, read
from trees import PARTS, ROOT

SURVIVOR = "src/base/units.cpp:7: a < b  →  a <= b"
ONE = Judged("2026-11-26", "0123456789ab", "Xeon", 7.5, 2, "src/base", 12, 11, None, 600,
             (SURVIVOR,))  # fmt: skip


def test_lines_are_appended_and_read_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    append([ONE], path)
    append([ONE, ONE], path)

    assert read(path) == [ONE, ONE, ONE]


def test_a_row_has_nothing_where_nothing_was_recorded() -> None:
    assert ONE.row == "| 2026-11-26 | 2 | `base` | 12 | 11 |  | 600 | 7.5 |"


def test_the_guide_shows_every_run_that_is_kept() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| \d{4}-\d\d-\d\d \|.+\|$", guide, re.MULTILINE)

    assert shown == [one.row for one in read()]


def test_kept_counts_are_possible() -> None:
    for one in read():
        assert one.part in PARTS
        assert one.judged >= one.killed >= (one.by_time or 0)
        # Older lines do not name those that survived.
        assert len(one.survived) in (0, one.judged - one.killed)
