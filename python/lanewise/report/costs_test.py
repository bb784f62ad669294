# SPDX-License-Identifier: BSD-3-Clause
"""What messages cost the processor stands on the page."""

from __future__ import annotations

from pathlib import Path

from lanewise.report.costs import cost_tables
from lanewise.report.verdict import title_of, verdict_of
from lanewise.report.write import write_report
from lanewise.results import specimen
from lanewise.results.read import load

POLLING = {
    "record": "polling", "message_bytes": 100_000, "interval_s": 1e-5, "depth": 4,
    "availability": [0.5, 0.582, 0.6], "rate_bytes_per_s": [3e9, 3.8e9, 4e9],
}  # fmt: skip
WAITING = {
    "record": "waiting", "message_bytes": 4096, "over_base": 0.5,
    "alone_s": [1.08e-6] * 3, "loop_s": [3.26e-6] * 3, "post_s": [1e-7] * 3,
    "wait_s": [2.07e-6] * 3,
}  # fmt: skip
END = {"record": "end", "points": 0, "elapsed_s": 1.0}


def cost_file(path: Path, *records: dict[str, object], **context: object) -> Path:
    return specimen.write(path, [specimen.context_record(**context), *records, END])


def test_each_polling_interval_has_a_row(tmp_path: Path) -> None:
    (table,) = cost_tables([load(cost_file(tmp_path / "a.jsonl", POLLING))])

    assert table.rows[1] == ("97.66 KiB", "10.0 µs", "58.2 %", "3.80 GB/s", "3")
    assert len(table.rows[0]) == len(table.rows[1])


def test_each_amount_of_work_has_a_row(tmp_path: Path) -> None:
    (table,) = cost_tables([load(cost_file(tmp_path / "a.jsonl", WAITING))])

    assert table.rows[1] == ("4 KiB", "0.5", "1.08 µs", "3.26 µs", "2.07 µs", "3")
    assert len(table.rows[0]) == len(table.rows[1])


def test_rows_of_several_files_are_told_apart(tmp_path: Path) -> None:
    files = [
        cost_file(tmp_path / f"{name}.jsonl", POLLING, launcher=name)
        for name in ("openmpi", "mpich")
    ]

    (table,) = cost_tables([load(path) for path in files])

    assert [row[0] for row in table.rows] == ["run", "openmpi", "mpich"]


def test_the_page_has_the_tables_and_names_what_was_measured(tmp_path: Path) -> None:
    path = cost_file(tmp_path / "a.jsonl", POLLING, WAITING)

    page = write_report([path], tmp_path / "report.html").path.read_text(encoding="utf-8")

    assert title_of([load(path)]) == "Polling and post-work-wait on node1"
    assert verdict_of([load(path)], 0)[0].startswith("2 points between 4 ranks")
    assert "58.2 %" in page and "3.26 µs" in page
