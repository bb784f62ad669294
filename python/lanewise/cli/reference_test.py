# SPDX-License-Identifier: BSD-3-Clause
"""The reference pages are what the programs say of themselves."""

from pathlib import Path

import pytest

from lanewise.cli.reference import pages, row, write

FOLDER = Path(__file__).parents[3] / "docs" / "reference"


def test_the_pages_in_the_repository_are_those_that_the_programs_print() -> None:
    if not FOLDER.is_dir():
        pytest.skip("no checkout: docs/reference is not here")
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}

    assert kept == pages(), "docs/reference is out of date; write it with: make reference"


def test_a_bar_in_an_option_does_not_end_its_cell() -> None:
    assert row(("--rule median|student", "Which\ninterval.")) == (
        "| `--rule median\\|student` | Which interval. |"
    )


def test_the_page_of_a_command_that_is_gone_is_removed(tmp_path: Path) -> None:
    (tmp_path / "lanewise-gone.md").write_text("old", encoding="utf-8")

    write(tmp_path, {"lanewise-new.md": "new"}.items())

    assert [path.name for path in tmp_path.iterdir()] == ["lanewise-new.md"]
