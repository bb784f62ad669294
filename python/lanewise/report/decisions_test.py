# SPDX-License-Identifier: BSD-3-Clause
"""What the page says of platforms, tunings and interleaved runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lanewise.errors import RequestError
from lanewise.report.decisions import (
    ChoiceRow,
    decisions_of,
    interleaved_row,
    model_rows,
    schema_of,
)
from lanewise.results.read import load
from lanewise.tuning import interleaved, specimen
from lanewise.tuning.content import Choice
from lanewise.tuning.write import save


def parameter(value: float) -> dict[str, float]:
    return {"value": value, "low": value / 2, "high": value * 2}


def platform(**models: dict[str, Any]) -> dict[str, Any]:
    return {"schema": "lanewise-platform", "models": models}


def model(error: float, points: int, **parameters: Any) -> dict[str, Any]:
    held_out = {"points": points, "relative_rms": error}
    return {**parameters, "held_out": held_out, "residuals": []}


def test_a_rule_is_a_row_with_its_gain_and_no_rule_is_said(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    wins: Mapping[str, Mapping[int, Sequence[Choice]]] = {
        "scatter": {64: [specimen.ours("binomial")]},
        "bcast": {64: []},
    }
    save(specimen.tuning(wins), path)

    found = decisions_of([path])

    assert list(found.choices) == [
        ChoiceRow("scatter", "64 B to 64 B", "binomial", "2.00 times as fast"),
        ChoiceRow("bcast", "every size", "the MPI's default", "nothing was faster"),
    ]
    assert found.files == [str(path)]


def test_the_gain_of_a_rule_is_that_of_its_lanes_alone(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    fastest = Choice("lanewise", "multilane", lanes=4)
    save(specimen.tuning({"scatter": {64: [fastest, Choice("lanewise", "multilane")]}}), path)

    found = decisions_of([path])

    assert list(found.choices) == [
        ChoiceRow("scatter", "64 B to 64 B", "multilane, 4 lanes", "2.00 times as fast")
    ]


def test_the_model_with_the_least_error_is_the_best() -> None:
    rows = model_rows(
        platform(
            hockney=model(0.2, 9, latency_s=parameter(1e-6)),
            loggp=model(0.1, 9, gap_s=parameter(2e-6)),
        )
    )

    assert [(row.name, row.best) for row in rows] == [("hockney", False), ("loggp", True)]
    assert rows[1].parameters == "gap 2.00 µs (1.00 µs to 4.00 µs)"


def test_a_model_that_was_not_judged_is_not_the_best() -> None:
    rows = model_rows(platform(lmo=model(0.0, 0, links=[{"latency_s": parameter(1e-6)}])))

    assert not rows[0].best
    assert rows[0].held_out == "none"
    assert rows[0].parameters == "latency 1.00 µs"


def test_interleaved_runs_are_a_row_with_their_ratio(tmp_path: Path) -> None:
    path = tmp_path / "interleaved.json"
    interleaved.write(interleaved.Interleaved("mpirun ./app", "t.json", [2.0] * 6, [1.0] * 6), path)

    row = decisions_of([path]).interleaved[0]

    assert (row.program, row.ratio, row.rounds) == ("mpirun ./app", "0.50 (0.50 to 0.50)", 6)


def test_few_rounds_have_a_ratio_without_an_interval() -> None:
    assert interleaved_row(interleaved.Interleaved("app", "t.json", [2.0], [1.0])).ratio == "0.50"


def test_a_file_of_another_kind_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"schema": "lanewise-run"}))

    with pytest.raises(RequestError, match=r"odd.json: a report is made of .* not 'lanewise-run'"):
        decisions_of([path])


def test_a_file_with_a_key_twice_is_no_file_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text('{"schema": "lanewise-tuning", "layouts": [], "layouts": []}')

    said = r"tuning\.json is not JSON \(the key 'layouts' is there twice\); write it again$"
    with pytest.raises(RequestError, match=said):
        schema_of(path)


def test_samples_with_a_key_twice_are_left_to_their_reader(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"schema": "lanewise-samples", "seed": 1, "seed": 2}\n{"record": "end"}\n')

    assert schema_of(path) == ""
    with pytest.raises(RequestError, match=r"samples\.jsonl:1: .*'seed' is there twice"):
        load(path)
