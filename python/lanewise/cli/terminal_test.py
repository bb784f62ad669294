# SPDX-License-Identifier: BSD-3-Clause
"""On a terminal of 80 columns, no row of a table goes on in the next line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from lanewise.cli import cost_table
from lanewise.cli.model import algorithms
from lanewise.cli.terminal import folded
from lanewise.model.schedule import Algorithm
from lanewise.results import specimen, table
from lanewise.results.records import Point, parse_record
from lanewise.results.table import UNLIMITED, fitted, line

COLUMNS = 80
SAMPLES_S = [1234.5678e-6 + 1e-9 * one for one in range(20)]
PAIR = {"peer": 101, "second_peer": 102, "reply_bytes": 0}
TABLES = {
    "compare": ["# Pair", "Size", "A median(us)", "B average(us)", "B/A", "Low", "High",
                "p (rank-sum)"],
    "gate": ["# Pair", "Size", "A median(us)", "B median(us)", "B slower by", "p (adjusted)",
             "Alarm"],
    "measure": ["# Size", "Median Latency(us)", "Low(us)", "High(us)", "Reps"],
    "pairs": ["# Ranks", "Size", "Reply", "Median(us)", "Low(us)", "High(us)", "Reps"],
    "polling": cost_table.POLLING,
    "waiting": cost_table.WAITING,
}  # fmt: skip


def files_in(folder: Path) -> list[str]:
    """Write samples of a collective and of triplets, twice."""
    written = []
    for name in ("a.jsonl", "b.jsonl"):
        points = [specimen.point_record("scatter", 1 << 22, SAMPLES_S)]
        points.append(specimen.point_record("triplets", 1 << 22, SAMPLES_S, **PAIR))
        specimen.write(folder / name, [specimen.context_record(ranks=103), *points])
        written.append(str(folder / name))
    return written


def on_terminal(words: Sequence[str], statuses: Sequence[int] = (0,)) -> list[str]:
    """Run the command with a terminal of 80 columns, and return the lines on it."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "lanewise", *words], stdout=theirs, env=environment
    ) as started:
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 4096):
                written += chunk
        except OSError:  # Linux ends a terminal that nobody writes to with EIO.
            pass
        finally:
            os.close(ours)
    assert started.returncode in statuses
    return written.decode().splitlines()


@pytest.mark.parametrize("names", TABLES.values(), ids=TABLES)
def test_a_table_has_room_in_80_columns_and_its_headings_stay_apart(names: list[str]) -> None:
    laid_out = line(names[0], names[1:], fitted(names, COLUMNS))

    assert len(laid_out) <= COLUMNS
    assert laid_out.split() == " ".join(names).split()


def test_a_table_that_has_room_is_laid_out_as_in_a_file() -> None:
    assert fitted(TABLES["pairs"], 118) == ()
    assert fitted(TABLES["pairs"], UNLIMITED) == ()
    assert fitted(TABLES["pairs"], 117) != ()


@pytest.mark.parametrize("options", [[], ["--gate", "5%"]], ids=["compare", "gate"])
def test_notes_below_a_comparison_fit_a_terminal(options: list[str], tmp_path: Path) -> None:
    files = []
    for name, kernel in (("a", "Linux 6.1.0"), ("b", "Linux 6.12.1, of a name that is quite long")):
        context = {"kernel": kernel, "clocksource": kernel}
        lines = specimen.launched_records(10, sizes_bytes=[8], context=context)
        files.append(str(specimen.write(tmp_path / name, lines)))

    shown = on_terminal(["compare", *files, *options])

    notes = shown[shown.index(next(line for line in shown if line.startswith("! "))) :]
    assert any(line.startswith("  ") for line in notes)
    assert max(map(len, notes[: notes.index("")] if options else notes)) <= COLUMNS


@pytest.mark.parametrize("command", ["compare", "report"])
def test_rows_of_files_fit_a_terminal_and_are_as_before_elsewhere(
    command: str, tmp_path: Path
) -> None:
    files = files_in(tmp_path)
    words = [command, *(files if command == "compare" else [files[0], "--format", "text"])]

    shown = on_terminal(words)

    piped = subprocess.run(
        [sys.executable, "-m", "lanewise", *words], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [
        text
        for text in shown
        if text[:1].isdigit() or text.startswith(("# Size", "# Pair", "# Ranks"))
    ]
    assert len(rows) >= 4
    assert max(map(len, rows)) <= COLUMNS
    # Notes below a table go on in further lines of a terminal.
    assert " ".join(shown).split() == " ".join(piped).split()
    assert max(map(len, piped)) > COLUMNS


def test_a_long_text_goes_on_below_its_beginning_and_a_path_stays_whole() -> None:
    path = "/a/very-long-path/" + "of-many-parts/" * 5
    lines = folded("  ok  openmpi   ", f"mpirun and a {path}", COLUMNS)

    assert lines == ["  ok  openmpi   mpirun and a", f"{'':16}{path}"]
    assert folded("  ok  ", "short", COLUMNS) == ["  ok  short"]
    assert folded("a lead alone ", "", 5) == ["a lead alone "]


def test_doctor_says_nothing_wider_than_the_terminal_but_paths() -> None:
    shown = on_terminal(["doctor"], statuses=(0, 1))

    wide = [text for text in shown if len(text) > COLUMNS and len(text.split()) > 1]
    assert wide == []


def test_what_an_algorithm_needs_stands_below_its_cost() -> None:
    one = Algorithm(
        "bcast", "multilane", source="", cost="L+M/(P b(P))" * 4,
        restrictions=("sites", "segmented", "lanes"),
    )  # fmt: skip

    lines = list(algorithms.table([one], COLUMNS))

    assert lines[1].endswith(one.cost)
    assert lines[2].strip() == algorithms.needs(one)
    assert max(map(len, lines)) <= COLUMNS
    assert len(list(algorithms.table([one]))) == 2


def test_every_row_of_a_growing_table_is_as_wide_as_its_heading() -> None:
    values = specimen.point_record("triplets", 1 << 22, SAMPLES_S, **PAIR)
    del values["record"]
    point = parse_record(Point, values)

    heading, row = table.heading(point, "median", COLUMNS), table.row(point, "median", COLUMNS)

    assert len(heading) == len(row) <= COLUMNS
