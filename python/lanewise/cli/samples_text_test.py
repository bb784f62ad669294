# SPDX-License-Identifier: BSD-3-Clause
"""What is said of a result file fits the terminal; the numbers of files and pipes are not cut."""

from pathlib import Path

import pytest

from lanewise.cli.samples_text import text_of
from lanewise.results import specimen
from lanewise.results.read import Samples, load

LIBRARY = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4"


@pytest.fixture
def samples(tmp_path: Path) -> Samples:
    records = specimen.records()
    records[0]["mpi"]["library"] = LIBRARY
    return load(specimen.write(tmp_path / "a.jsonl", records))


def said(lines: list[str]) -> list[str]:
    """Return the conditions and the cautions."""
    return [*lines[: lines.index("")], *(line for line in lines if line.startswith("! "))]


def test_conditions_are_folded_below_their_names_on_a_narrow_terminal(samples: Samples) -> None:
    lines = said(text_of(samples, 60))
    first = next(number for number, line in enumerate(lines) if line.startswith("# mpi "))

    assert lines[first + 1].startswith("#" + " " * 11)
    assert max(len(line) for line in lines if str(samples.path) not in line) <= 60


def test_conditions_are_a_line_each_elsewhere(samples: Samples) -> None:
    assert f"# mpi       {LIBRARY}" in said(text_of(samples))
