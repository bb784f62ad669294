# SPDX-License-Identifier: BSD-3-Clause
"""An old command line means what it meant, and the new one is named."""

from __future__ import annotations

import pytest

from lanewise.cli import BELOW, COMMANDS, renamed, run


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


@pytest.mark.parametrize(
    "words",
    [[], ["--version"], ["measure", "show"], ["check", "same-bits"], ["check"], ["check", "-h"]],
)
def test_a_command_line_of_today_is_left_alone(words: list[str]) -> None:
    assert renamed.translate(words) == ([words], "")


def test_check_alone_measures_nothing_and_says_what_can_be_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check"]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    (sentence,) = printed.err.splitlines()
    assert "lanewise check same-bits -- " in sentence
    assert "lanewise model guidelines" in sentence


def test_the_help_of_check_is_not_that_of_its_old_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--help"]) == 0

    assert "same-bits" in capsys.readouterr().out


def test_an_old_option_becomes_the_new_one_with_advice() -> None:
    words, advice = renamed.translate_options(
        ["bcast", "--fabric", "smpi", "--fabric=mpich"], {"--launcher"}
    )

    assert words == ["bcast", "--launcher", "smpi", "--launcher=mpich"]
    assert advice == ["'--fabric' is now '--launcher'"] * 2


@pytest.mark.parametrize("known", [{"--turns", "--interleaved"}, {"--sizes"}])
def test_an_option_that_the_command_knows_or_that_has_no_successor_stays(known: set[str]) -> None:
    assert renamed.translate_options(["--turns", "3"], known) == (["--turns", "3"], [])


def test_an_old_option_is_refused_as_the_new_one_would_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["measure", "bcast", "--fabric", "opnmpi"]) == 2

    advice, refusal = capsys.readouterr().err.splitlines()
    assert advice == "lanewise measure: '--fabric' is now '--launcher'"
    assert "unknown launcher 'opnmpi'" in refusal


def test_help_shows_only_the_new_name(capsys: pytest.CaptureFixture[str]) -> None:
    run(["measure", "--help"])

    shown = capsys.readouterr().out
    assert "--launcher" in shown
    assert "--fabric" not in shown


def test_words_of_another_program_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", "--tuning", "none.json", "no-such-launcher", "--turns", "3"])

    assert "--interleaved" not in capsys.readouterr().err
