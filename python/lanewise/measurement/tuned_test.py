# SPDX-License-Identifier: BSD-3-Clause
"""A tuning shows its rules as text, as a table and as a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lanewise
from lanewise.errors import RequestError
from lanewise.tuning.content import (
    Candidate,
    Choice,
    CollectiveTuning,
    Figures,
    Point,
    Rule,
    Tuning,
)


def took(median_s: float) -> Figures:
    return Figures(median_s, 0.9 * median_s, 1.1 * median_s, 20)


def point(message_bytes: int) -> Point:
    fast, slow = Choice("lanewise", "binomial"), Choice("mpi", "linear", 1024, 2)
    return Point(
        message_bytes, took(2e-6), (Candidate(fast, took(1e-6)), Candidate(slow, took(3e-6)))
    )


RULED = CollectiveTuning((point(1024), point(2048)), (Rule(1024, 2048, "binomial"),), ())
PLAIN = CollectiveTuning((point(0),))
FOUND = lanewise.TuningResult(
    Tuning(
        lanewise="0.1.0", created="2026-11-25T08:00:00Z", mpi_family="openmpi",
        mpi_library="Open MPI v4.1.4, package: Debian", hosts=(0, 0), margin=0.05, confidence=0.95,
        collectives={"scatter": RULED, "barrier": PLAIN},
    ),
    complete=False,
)  # fmt: skip


def test_text_has_a_line_for_each_rule_and_for_what_keeps_the_default() -> None:
    heading, scatter, barrier, note = str(FOUND).splitlines()

    assert heading.split() == ["collective", "sizes", "algorithm", "of", "time/default"]
    assert scatter.split()[:6] == ["scatter", "1", "KiB", "-", "2", "KiB"]
    assert "binomial" in scatter
    assert barrier.split() == ["barrier", "1", "measured", "default", "openmpi", "1.00"]
    assert note == "the budget was used up before all was measured"


def test_a_tuning_is_named_in_one_line() -> None:
    assert repr(FOUND) == "<TuningResult: scatter, barrier, 2 ranks on one host>"


def test_a_notebook_shows_the_same_as_a_table() -> None:
    shown = FOUND._repr_html_()

    assert "2 ranks on one host, Open MPI v4.1.4" in shown
    assert shown.count("<tr>") == 3
    assert "the budget was used up" in shown


def test_the_data_frame_has_a_row_for_each_time() -> None:
    frame = FOUND.frame

    assert frame.algorithm.tolist() == ["default", "binomial", "linear"] * 3
    assert frame.lanes.tolist() == [1, 1, 2] * 3
    assert frame.median_s.tolist() == [2e-6, 1e-6, 3e-6] * 3


def test_a_figure_has_the_default_and_the_algorithms_with_a_rule() -> None:
    scatter, barrier = FOUND.plot().axes

    assert [line.get_label() for line in scatter.lines] == ["default", "binomial"]
    assert np.asarray(scatter.lines[1].get_ydata()).tolist() == [1e-6, 1e-6]
    assert len(barrier.lines) == 1


def test_what_is_saved_is_read_again_and_never_overwritten(tmp_path: Path) -> None:
    FOUND.save(tmp_path / "tuning.json")

    assert lanewise.TuningResult.load(tmp_path / "tuning.json").tuning == FOUND.tuning
    with pytest.raises(RequestError, match="exists"):
        FOUND.save(tmp_path / "tuning.json")
    with pytest.raises(RequestError, match="cannot be written: File name too long"):
        FOUND.save(tmp_path / ("x" * 300))
