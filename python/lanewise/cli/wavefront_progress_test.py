# SPDX-License-Identifier: BSD-3-Clause
"""The progress of a sweep is a bar, lines of a log, or nothing; its end is kept by each."""

from __future__ import annotations

from typing import Any

import pytest

from lanewise.cli import wavefront
from lanewise.cli.wavefront import BarProgress, LogProgress, RunProgress, described

PROGRESS: dict[str, Any] = {
    "event": "progress", "elapsed_s": 2.0, "iterations_done": 1, "iterations_wanted": 4,
    "waves": 1, "rows_done": 50, "rows": 100, "columns": 100,
    "pass_read_bytes": 8000, "pass_written_bytes": 8000,
}  # fmt: skip
END: dict[str, Any] = {"event": "end", "iterations": 4}


def lines_of(
    shown: RunProgress, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Return what is written where every event is due for the log."""
    monkeypatch.setattr(wavefront, "LOG_PERIOD_S", 0.0)
    with shown:
        shown.take(PROGRESS)
        shown.take(END)
    assert shown.end == END
    return capsys.readouterr().err


def test_a_log_has_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines_of(LogProgress(), capsys, monkeypatch).startswith("2/4 iterations, ")


@pytest.mark.parametrize("kind", [BarProgress, RunProgress])
def test_there_are_no_lines_of_a_log_beside_a_bar_or_when_quiet(
    kind: type[RunProgress], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"{described(PROGRESS)}\n" not in lines_of(kind(), capsys, monkeypatch)
