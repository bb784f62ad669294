# SPDX-License-Identifier: BSD-3-Clause
"""Samples are compared with the text of another tool, at the ranks that both have."""

from pathlib import Path

import pytest

from lanewise.cli import run
from lanewise.results import specimen

SPECIMENS = Path(__file__).parents[3] / "tests" / "cli" / "imports"
# Ping-pong of two processes, then reduce_scatter of four.
IMB = SPECIMENS / "imb-2021.txt"


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    lines = specimen.records(["pingpong"], [8], context={"ranks": 2})
    return specimen.write(tmp_path / "samples.jsonl", lines)


@pytest.mark.parametrize("text_is_first", [True, False])
def test_a_text_is_read_at_the_ranks_of_the_samples(
    measured: Path, text_is_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (IMB, measured) if text_is_first else (measured, IMB)

    assert run(["compare", *map(str, files)]) == 0

    printed = capsys.readouterr().out
    assert "# pingpong, 2 ranks" in printed
    assert "IMB 2021.7 printed one number per size" in printed


def test_without_an_interval_no_run_is_called_slower(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", str(measured), str(IMB), "--fail-if-slower", "5%"]) == 2

    said = capsys.readouterr()
    assert "--fail-if-slower needs an interval" in said.err
    assert said.out == ""
