# SPDX-License-Identifier: BSD-3-Clause
"""An old command line means what it meant, and the new one is named."""

from __future__ import annotations

import pytest

from lanewise.cli import BELOW, COMMANDS, renamed


@pytest.mark.parametrize(("old", "new"), renamed.RENAMED.items())
def test_an_old_name_becomes_the_new_one_and_keeps_its_words(old: str, new: str) -> None:
    translated, advice = renamed.translate([*old.split(), "-n", "4"])

    assert translated == [[*new.split(), "-n", "4"]]
    assert advice == f"'{old}' is now 'lanewise {new}'"


def test_every_new_name_is_a_command() -> None:
    known = {*COMMANDS, *(name.split()[0] for name in BELOW)}

    assert {new.split()[0] for new in renamed.RENAMED.values()} <= known


def test_an_export_of_two_files_becomes_two_reports() -> None:
    words = ["export", "a.jsonl", "--csv=a.csv", "--parquet", "a.parquet"]

    translated, advice = renamed.translate(words)

    assert translated == [
        ["report", "--format", "csv", "-o", "a.csv", "a.jsonl"],
        ["report", "--format", "parquet", "-o", "a.parquet", "a.jsonl"],
    ]
    assert "lanewise report --format csv -o a.csv a.jsonl" in advice


@pytest.mark.parametrize("words", [[], ["--version"], ["measure", "show"], ["model", "fit"]])
def test_a_command_line_of_today_is_left_alone(words: list[str]) -> None:
    assert renamed.translate(words) == ([words], "")
