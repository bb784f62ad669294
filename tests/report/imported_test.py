# SPDX-License-Identifier: BSD-3-Clause
"""What the page says of the text of another tool, and of means: nothing that is not so."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from lanewise.imports.load import load
from lanewise.report.figures import figures_of
from lanewise.report.labels import labels_of
from lanewise.report.tables import glance_of, number_of
from lanewise.report.verdict import title_of, verdict_of
from lanewise.report.write import write_report
from lanewise.results import read, specimen

OSU = "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n8 1.5\n16 1.75\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "osu.txt"
    path.write_text(OSU, encoding="utf-8")
    return path


def measured(path: Path, **context: object) -> Path:
    records = specimen.records(("bcast",), (8, 16), context=context)
    return specimen.write(path, records)


def body_of(page: Path) -> str:
    """Return what a person sees of a page, without scripts, their data and the style."""
    whole = page.read_text(encoding="utf-8")
    return re.sub(r"<(script|style).*?</\1>", "", whole, flags=re.DOTALL)


def test_the_verdict_says_what_the_text_of_a_tool_tells_and_no_more(text: Path) -> None:
    verdict = " ".join(verdict_of([load(text)], 1))

    assert verdict.startswith(
        "2 points printed by OSU 7.4; the text does not tell where and when. "
        "Each time is the average. "
    )
    assert title_of([load(text)]) == "Bcast by OSU 7.4"
    assert "nan" not in verdict and "unknown" not in verdict and "0 ranks" not in verdict


def test_the_verdict_names_the_ranks_that_are_known(text: Path) -> None:
    assert "printed by OSU 7.4, between 4 ranks;" in " ".join(verdict_of([load(text, 4)], 1))


def test_several_runs_of_a_tool_have_an_interval(text: Path) -> None:
    text.write_text(OSU + OSU.replace("1.5", "1.6"), encoding="utf-8")

    verdict = " ".join(verdict_of([load(text)], 1))

    assert (
        "Each time is the average of a run, as the geometric mean over 2 runs with its 95 % "
        "interval."
    ) in verdict


def test_samples_and_a_text_have_sentences_of_their_own(text: Path, tmp_path: Path) -> None:
    runs = [load(measured(tmp_path / "a.jsonl")), load(text)]

    verdict = " ".join(verdict_of(runs, 1))

    assert "2 points between 4 ranks, with Open MPI 4.1.4," in verdict
    assert "Each time is the median of isolated repetitions of one launch" in verdict
    assert "2 points printed by OSU 7.4;" in verdict
    assert "Half of those with an interval are known within" in verdict
    assert labels_of(runs) == ["openmpi", "OSU 7.4"]


def test_a_label_has_nothing_that_a_text_does_not_tell(text: Path, tmp_path: Path) -> None:
    files = [measured(tmp_path / f"{ranks}.jsonl", ranks=ranks) for ranks in (2, 4)]

    labels = labels_of([*map(load, files), load(text)])

    assert labels == ["openmpi · 2 ranks", "openmpi · 4 ranks", "OSU 7.4"]


def test_no_command_measures_a_text_again(text: Path, tmp_path: Path) -> None:
    page = write_report([text], tmp_path / "report.html", load).path

    assert "lanewise measure" not in body_of(page)
    assert f"lanewise report {text} -o {page}" in body_of(page)


def test_the_average_of_a_tool_is_not_called_a_median(text: Path, tmp_path: Path) -> None:
    figures = figures_of([load(text)])

    page = write_report([text], tmp_path / "report.html", load).path

    assert figures[0]["curves"][0]["number"] == ["mean", "mean"]
    assert glance_of(figures).number == "mean"
    assert "median" not in body_of(page).lower()


@pytest.mark.parametrize("launches", [1, 3])
def test_the_means_of_the_rule_of_student_are_called_means(launches: int, tmp_path: Path) -> None:
    stopping = {**specimen.context_record()["stopping"], "rule": "student"}
    records = specimen.launched_records(
        launches=launches, spread=0.02, operations=("bcast",), sizes_bytes=(8, 16),
        context={"stopping": stopping},
    )  # fmt: skip
    run = read.load(specimen.write(tmp_path / "a.jsonl", records))

    assert number_of(figures_of([run])) == "mean"
    assert "Each time is the mean of isolated repetitions" in " ".join(verdict_of([run], 0))


def test_medians_beside_means_are_called_both(text: Path, tmp_path: Path) -> None:
    runs = [load(measured(tmp_path / "a.jsonl")), load(text)]

    assert number_of(figures_of(runs)) == "median or mean"


def test_times_with_and_without_a_zone_are_put_in_order(tmp_path: Path) -> None:
    files = [
        measured(tmp_path / f"{day}.jsonl", started=f"2026-11-{day}T10:00:00{zone}")
        for day, zone in ((21, "Z"), (20, ""), (22, "+02:00"))
    ]

    verdict = verdict_of([load(path) for path in files], 0)

    assert "on 20 November 2026 at 10:00 UTC to 22 November 2026" in verdict[0]


def test_the_line_that_writes_the_page_again_quotes_names(tmp_path: Path) -> None:
    samples = measured(tmp_path / "two words.jsonl")

    page = write_report([samples], tmp_path / "report.html").path

    assert f"lanewise report &#39;{samples}&#39; -o {page}" in body_of(page)


def test_a_file_whose_name_is_not_text_becomes_a_page(tmp_path: Path) -> None:
    samples = measured(tmp_path / os.fsdecode(b"\xff.jsonl"))

    page = write_report([samples, measured(tmp_path / "a.jsonl")], tmp_path / "report.html").path

    assert "?.jsonl" in body_of(page)


def test_samples_without_a_point_yet_become_a_page(tmp_path: Path) -> None:
    samples = specimen.write(tmp_path / "a.jsonl", [specimen.context_record()])

    page = write_report([samples], tmp_path / "report.html").path

    assert "No point yet on node1" in body_of(page)
