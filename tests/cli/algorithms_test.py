# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model algorithms`: every algorithm is listed and can be looked at."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanewise.cli import run
from lanewise.errors import RequestError
from lanewise.launch.native import find_program

Answer = tuple[int, str, str]
Lanewise = Callable[..., Answer]


@pytest.fixture
def lanewise(capfd: pytest.CaptureFixture[str]) -> Lanewise:
    """Give the function that runs the command here: status, output, complaint."""
    try:
        find_program("lanewise-schedule", os.environ)
    except RequestError as missing:
        pytest.skip(str(missing))

    def answer(*arguments: str) -> Answer:
        status = run(list(arguments))
        told = capfd.readouterr()
        return status, told.out, told.err

    return answer


ROUND = re.compile(r"round (\d+): (.*)")


def listed() -> list[dict[str, Any]]:
    program = find_program("lanewise-schedule", os.environ)
    done = subprocess.run([str(program), "--list"], capture_output=True, text=True, check=True)
    algorithms: list[dict[str, Any]] = json.loads(done.stdout)
    return algorithms


def test_each_algorithm_says_what_it_is_from_and_what_it_costs(lanewise: Lanewise) -> None:
    _, told, _ = lanewise("model", "algorithms")

    algorithms = listed()
    headings = re.findall(r"^# (\w+)$", told, re.MULTILINE)
    assert sorted(headings) == sorted({one["collective"] for one in algorithms})
    assert {"scatter", "allreduce", "barrier"} <= set(headings)
    for one in algorithms:
        assert re.search(rf"^{one['name']} .*{re.escape(one['cost'])}", told, re.MULTILINE)
        assert one["source"]


def test_the_rounds_of_a_binomial_scatter_are_those_of_the_literature(lanewise: Lanewise) -> None:
    _, told, _ = lanewise(
        "model", "algorithms", "scatter", "binomial", "--ranks", "4", "--size", "2K"
    )

    assert [match.groups() for match in ROUND.finditer(told)] == [
        ("1", "0->2 4 KiB"),
        ("2", "0->1 2 KiB, 2->3 2 KiB"),
    ]


def test_the_picture_is_there_whole_or_not_at_all(lanewise: Lanewise, tmp_path: Path) -> None:
    picture = tmp_path / "rounds.svg"
    words = ["bcast", "pipeline", "--segment", "256", "--svg", str(picture)]

    status, _, _ = lanewise("model", "algorithms", *words)

    assert status == 0
    assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")
    assert [path.name for path in tmp_path.iterdir()] == ["rounds.svg"]


WRONG = {
    "scater": (["scater"], "no collective 'scater'; did you mean scatter?"),
    "scatter binomal": (["scatter", "binomal"], "did you mean binomial?"),
    "no platform": (["scatter", "lmo_binomial"], "give --platform FILE"),
    "odd ranks": (["allgather", "neighbor_exchange", "-n", "5"], "the number of ranks is odd"),
    "radix": (["bcast", "knomial:65"], "the number after the colon is 2 to 64"),
    "no trees": (["alltoall", "knomial:4"], "no alltoall algorithm 'knomial:4'"),
    "root": (["bcast", "ring", "--root", "8"], "root 8 of 8 ranks is not there"),
    "size": (["bcast", "ring", "--size", "8Q"], "8Q"),
    "huge": (["bcast", "ring", "--size", "8388608T"], "are more than can be counted"),
    "huge blocks": (["allgather", "ring", "--size", "4194304T"], "are more than can be counted"),
    "huge segment": (["bcast", "pipeline", "--segment", "8388608T"], "more than can be counted"),
    "svg and json": (
        ["bcast", "ring", "--svg", "x.svg", "--json"],
        "--svg and --json: give one of them",
    ),
    "svg of all": (["bcast", "--svg", "x.svg"], "--svg is for one algorithm"),
    "root of all": (["bcast", "--root", "8"], "--root is for one algorithm; name it: "),
    "too many": (["bcast", "ring", "-n", "100", "--svg", "x.svg"], "draw at most 64"),
}


def test_a_tree_has_any_radix_that_is_named(lanewise: Lanewise) -> None:
    status, told, _ = lanewise("model", "algorithms", "gather", "knomial:5", "--ranks", "5")

    assert status == 0
    assert told.startswith("# gather knomial:5\n")
    rounds = dict(match.groups() for match in ROUND.finditer(told))
    assert rounds == {"1": "1->0 1 KiB, 2->0 1 KiB, 3->0 1 KiB, 4->0 1 KiB"}


def test_of_more_sites_than_ranks_each_rank_is_at_one(lanewise: Lanewise) -> None:
    words = ["model", "algorithms", "scatter", "multilane", "--ranks", "6", "--sites"]

    assert lanewise(*words, "2147483647") == lanewise(*words, "6")


@pytest.mark.parametrize(("words", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_bad_input_gets_one_line_with_its_remedy(
    lanewise: Lanewise, words: list[str], sentence: str
) -> None:
    status, _, complaint = lanewise("model", "algorithms", *words)

    assert status == 2
    assert sentence in complaint
    assert complaint.count("\n") == 1
