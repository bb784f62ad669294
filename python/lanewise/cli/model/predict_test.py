# SPDX-License-Identifier: BSD-3-Clause
"""The table of predictions, and what is asked of the native program."""

import json

import pytest

from lanewise.cli import run
from lanewise.cli.model.predict import table
from lanewise.model.predict import Candidate, LeftOut, Prediction, Question, read_prediction


def prediction(
    sizes: int, *candidates: Candidate, left_out: tuple[LeftOut, ...] = ()
) -> Prediction:
    message_bytes = tuple(8 << column for column in range(sizes))
    return Prediction("p.json", "lmo", "scatter", 4, message_bytes, candidates, left_out)


def test_the_fastest_at_each_size_is_marked() -> None:
    lines = list(
        table(prediction(2, Candidate("binomial", (1e-6, 3e-6)), Candidate("linear", (2e-6, 2e-6))))
    )

    assert lines[0] == "# scatter on 4 ranks, model lmo of p.json; * is the fastest"
    assert lines[1].split() == ["#", "Algorithm", "8", "B", "16", "B"]
    assert lines[2].split() == ["binomial", "1.00", "µs", "*", "3.00", "µs"]
    assert lines[3].split() == ["linear", "2.00", "µs", "2.00", "µs", "*"]


def test_one_algorithm_alone_is_not_called_the_fastest() -> None:
    assert "*" not in "".join(table(prediction(2, Candidate("binomial", (1e-6, 3e-6)))))


def test_many_sizes_stand_in_tables_one_below_the_other() -> None:
    lines = list(table(prediction(20, Candidate("binomial", (1e-6,) * 20))))

    assert sum(line.startswith("# Algorithm") for line in lines) == 4
    assert max(map(len, lines)) <= 120


def test_sizes_that_a_terminal_has_no_room_for_stand_in_a_table_below() -> None:
    lines = list(table(prediction(8, Candidate("binomial", (1e-6,) * 8)), 80))

    assert sum(line.startswith("# Algorithm") for line in lines) == 2
    assert max(map(len, lines)) <= 80


def test_what_cannot_serve_the_call_is_named_with_the_reason() -> None:
    lines = list(table(prediction(1, left_out=(LeftOut("ring", "too many steps"),))))

    assert lines[-1] == "! ring: too many steps"


def test_a_candidate_is_named_as_it_is_asked_for() -> None:
    entry = {"algorithm": "pipeline", "predicted_s": [1.0]}
    answer = {
        "platform": "p.json", "model": "lmo", "collective": "bcast", "ranks": 2,
        "message_bytes": [8],
        "candidates": [
            {**entry, "segment_bytes": 0, "lanes": 1},
            {**entry, "segment_bytes": 8192, "lanes": 1},
            {**entry, "segment_bytes": 0, "lanes": 4},
        ],
        "left_out": [],
    }  # fmt: skip

    names = [candidate.name for candidate in read_prediction(json.dumps(answer)).candidates]

    assert names == ["pipeline", "pipeline:8192", "pipeline:0:4"]


def test_defaults_are_left_to_the_native_program() -> None:
    assert Question("p.json", "scatter").arguments() == [
        "--platform", "p.json", "--root", "0", "--", "scatter",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--svg", "a.svg"], "--algorithm"),
        (["--svg", "a.svg", "--json", "--algorithm", "linear"], "--json"),
        (["--ranks", "0"], "--ranks"),
        (["--root", "-1"], "--root"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["model", "predict", "scatter", *arguments]) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert named in shown.err
