# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise report` writes its page, or says in one line why not."""

import json
import os
import subprocess
import sys
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


@pytest.mark.parametrize("words", ["--format csv", "--json", "--raw --format csv", "-o a.parquet"])
def test_rows_of_a_run_that_was_interrupted_come_with_a_warning(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    specimen.write(Path("a.jsonl"), specimen.records()[:-2])

    assert run(["report", "a.jsonl", *words.split()]) == 0

    assert capsys.readouterr().err == (
        "lanewise report: warning: a.jsonl: the run was interrupted after 7 points; "
        "measure again with --resume to finish it\n"
    )


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    done = subprocess.run(
        [sys.executable, "-m", "lanewise", "report", str(pipe)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 2
    assert f"{pipe} is a pipe, and can be read only once" in done.stderr


@pytest.mark.parametrize("format_", ["text", "csv"])
def test_a_file_for_the_page_alone_is_refused_as_such_by_other_formats(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())
    tuning = tmp_path / "tuning.json"
    tuning.write_text('{"schema": "lanewise-tuning", "version": 1}')

    assert run(["report", str(samples), str(tuning), "--format", format_]) == 2

    assert capsys.readouterr().err == (
        f"lanewise report: {tuning} is of lanewise-tuning, not samples, and {format_} is of "
        "samples alone; leave it out, or write the page\n"
    )


def test_a_file_that_no_format_takes_is_not_said_to_be_for_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "paths.json"
    other.write_text('{"schema": "lanewise-paths", "version": 1}')

    assert run(["report", str(other), "--format", "csv"]) == 2

    assert capsys.readouterr().err == (
        f"lanewise report: {other} is of lanewise-paths, not samples, and csv is of samples alone; "
        "leave it out\n"
    )


def test_the_file_that_is_missing_is_named_and_none_for_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuning = tmp_path / "tuning.json"
    tuning.write_text('{"schema": "lanewise-tuning", "version": 1}')

    assert run(["report", str(tmp_path / "a.jsonl"), str(tuning), "--format", "csv"]) == 2

    assert "a.jsonl does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ("-o x.csv.gz", ".gz"),
        ("-o x.csv.GZ", ".GZ"),
        ("-o x.csv.gz --format csv", ".gz"),
        ("-o x.gz --format csv", ".gz"),
        ("-o .gz --format csv", ".gz"),
    ],
)
def test_a_file_that_would_not_be_compressed_is_refused(
    words: str,
    ending: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    specimen.write(Path("a.jsonl"), specimen.records())

    assert run(["report", "a.jsonl", *words.split()]) == 2

    said = f"would not be compressed; name a file without {ending}, and compress that"
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_name_is_to_say_more_than_how_it_is_compressed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())

    assert run(["report", str(samples), "-o", "x.gz"]) == 2

    assert "x.gz does not say what to write" in capsys.readouterr().err


def test_two_formats_at_once_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", specimen.records())

    assert run(["report", str(samples), "--json", "--format", "csv"]) == 2

    assert "--json and --format csv exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_a_format_that_would_be_empty_is_refused(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    polling = {
        "record": "polling", "message_bytes": 100_000, "interval_s": 1e-5, "depth": 4,
        "availability": [0.5], "rate_bytes_per_s": [3e9],
    }  # fmt: skip
    end = {"record": "end", "points": 1, "elapsed_s": 1.0}
    path = specimen.write(tmp_path / "a.jsonl", [specimen.context_record(), polling, end])
    output = tmp_path / f"out.{format_}"

    assert run(["report", str(path), "-o", str(output)]) == 2

    assert f"have no rows in {format_}; use html or text" in capsys.readouterr().err
    assert not output.exists()


def test_repetitions_of_a_text_that_has_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "osu.txt"
    text.write_text("# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8 1.0\n")

    assert run(["report", str(text), "--raw", "--format", "csv"]) == 2

    assert "has one number for each point and no repetitions" in capsys.readouterr().err


def test_rows_of_a_text_say_what_its_tool_printed_and_have_no_confidence_without_an_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "osu.txt"
    text.write_text("# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8 1.0\n")

    assert run(["report", str(text), "--json"]) == 0

    (row,) = json.loads(capsys.readouterr().out)["points"]
    assert (row["number"], row["low_s"], row["confidence"]) == ("average", None, None)
