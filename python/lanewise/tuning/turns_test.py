# SPDX-License-Identifier: BSD-3-Clause
"""Turns: runs change places, failures end them, and the file comes back as it was written."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import jsonschema
import pytest

from lanewise.errors import RequestError, RunError
from lanewise.tuning.turns import Turns, load, take_turns, write

SCHEMA = Path(__file__).parents[3] / "schema/turns.schema.json"


def ticking(step_s: float) -> itertools.count[float]:
    return itertools.count(0.0, step_s)


def test_the_two_change_places_every_turn(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = {
        name: [sys.executable, "-c", f"open({str(log)!r}, 'a').write({name[0]!r})"]
        for name in ("plain", "tuned")
    }
    ticks = ticking(0.5)

    seconds = take_turns(commands, 3, {}, clock=lambda: next(ticks))

    assert log.read_text() == "pttppt"
    assert seconds == {"plain": [0.5] * 3, "tuned": [0.5] * 3}


def test_a_run_that_fails_is_named_with_its_status() -> None:
    with pytest.raises(RunError, match="the tuned run ended with status 3"):
        take_turns({"tuned": [sys.executable, "-c", "raise SystemExit(3)"]}, 2, {})


def test_the_file_comes_back_and_fits_its_schema(tmp_path: Path) -> None:
    turns = Turns("mpirun -n 4 ./app", "tuning.json", [2.0, 2.1], [1.0, 1.1])
    path = tmp_path / "turns.json"

    write(turns, path)

    assert load(path) == turns
    jsonschema.validate(json.loads(path.read_text()), json.loads(SCHEMA.read_text()))


def test_the_ratio_is_of_medians_and_few_turns_have_no_interval() -> None:
    turns = Turns("app", "t.json", [4.0, 2.0, 3.0], [1.5, 1.5, 9.0])

    assert turns.ratio() == pytest.approx(0.5)
    assert turns.interval() is None
    assert "too few" in turns.text()


@pytest.mark.parametrize(
    ("change", "named"),
    [({"novelty": 1}, "novelty"), ({"plain_s": []}, "plain_s"), ({"version": 2}, "version 2")],
)
def test_what_it_does_not_know_is_refused_by_name(
    change: dict[str, object], named: str, tmp_path: Path
) -> None:
    path = tmp_path / "turns.json"
    write(Turns("app", "t.json", [1.0], [1.0]), path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    with pytest.raises(RequestError, match=named):
        load(path)
