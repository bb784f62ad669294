# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise report` writes its page, or says in one line why not."""

from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.results import specimen


def test_the_page_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records(("scatter", "gather")))
    page = tmp_path / "report.html"

    status = run(["report", str(samples), "-o", str(page)])

    assert status == 0
    assert page.is_file()
    assert capsys.readouterr().out == f"{page}  2 figures, 2 curves\n"


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = run(["report", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "report.html")])

    assert status == 2
    assert "a.jsonl does not exist" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_a_truncated_file_becomes_a_page_that_says_so(tmp_path: Path) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())
    samples.write_text(samples.read_text(encoding="utf-8")[:-400], encoding="utf-8")
    page = tmp_path / "report.html"

    status = run(["report", str(samples), "-o", str(page)])

    assert status == 0
    assert "the last line is cut off" in page.read_text(encoding="utf-8")
