# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise model predict` for real, on a platform written by hand."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from lanewise import read_platform
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.model.program import PREDICT

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

# As in the fixture `platform`.
LATENCY_S = 1e-5
S_PER_BYTE = 1e-9


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def test_the_times_are_hockneys(lanewise: Lanewise, platform: Path) -> None:
    found = answer(
        lanewise("model", "predict", "scatter", "--platform", platform, "--sizes", "1K", "--json")
    )

    times = {one["algorithm"]: one["predicted_s"] for one in found["candidates"]}
    assert (found["ranks"], found["model"], found["message_bytes"]) == (4, "hockney", [1024])
    assert times["linear"] == [pytest.approx(3 * (LATENCY_S + 1024 * S_PER_BYTE))]
    assert times["binomial"] == [pytest.approx(2 * LATENCY_S + 3 * 1024 * S_PER_BYTE)]


def test_more_ranks_than_were_measured_are_predicted(lanewise: Lanewise, platform: Path) -> None:
    done = lanewise(
        "model", "predict", "scatter", "--ranks", 4096, "--algorithm", "binomial,linear"
    )

    assert done.returncode == 0, done.stderr
    assert "# scatter on 4096 ranks, model hockney" in done.stdout
    assert done.stdout.count("*") >= 5


def test_a_segment_is_part_of_the_question(lanewise: Lanewise, platform: Path) -> None:
    asked = ["--algorithm", "pipeline:4K", "--algorithm", "pipeline:1M"]
    found = answer(lanewise("model", "predict", "bcast", *asked, "--sizes", "1M", "--json"))

    small, large = found["candidates"]
    assert (small["segment_bytes"], large["segment_bytes"]) == (4096, 1 << 20)
    assert small["predicted_s"] != large["predicted_s"]


def test_an_algorithm_whose_name_has_a_colon_can_be_asked_for(
    lanewise: Lanewise, platform: Path
) -> None:
    every = answer(lanewise("model", "predict", "scatter", "--json"))["candidates"]
    named = [one["algorithm"] for one in every if ":" in one["algorithm"]]
    asked = [word for name in named for word in ("--algorithm", name)]

    found = answer(lanewise("model", "predict", "scatter", *asked, "--json"))["candidates"]

    assert named
    assert found == [one for one in every if one["algorithm"] in named]


def test_every_collective_can_be_asked_for(lanewise: Lanewise, platform: Path) -> None:
    listed = answer(lanewise("model", "algorithms", "--json"))["algorithms"]
    collectives = {one["collective"] for one in listed}

    assert {"barrier", "bcast", "reduce_scatter", "scan", "neighbor_alltoallv"} <= collectives
    for collective in collectives:
        found = answer(lanewise("model", "predict", collective, "--json"))

        assert all(time > 0 for one in found["candidates"] for time in one["predicted_s"])
        assert found["candidates"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"algorithm": "binomial,linear"}, "algorithm is one NAME[:SEGMENT[:LANES]], not 'binomi"),
        ({"algorithm": "all"}, "algorithm is one NAME[:SEGMENT[:LANES]], not 'all'"),
        ({"algorithm": ""}, "algorithm is one NAME[:SEGMENT[:LANES]], not ''"),
        ({"message_bytes": "1K:1M:x2"}, "message_bytes='1K:1M:x2' is not one size"),
        ({"message_bytes": "1K,1M"}, "message_bytes='1K,1M' is not one size"),
        ({"message_bytes": "--help"}, '"--help" does not begin with digits'),
        ({"message_bytes": ""}, "message_bytes='' is not one size"),
        ({"message_bytes": 8.0}, "message_bytes=8.0 is not a whole number"),
        ({"message_bytes": -1}, "message_bytes=-1 is not 0 or more"),
        ({"collective": "--help"}, 'unknown collective "--help"'),
        ({"model": "--help"}, 'has no model "--help"'),
    ],
)
def test_one_time_is_asked_for_in_python(platform: Path, asked: dict[str, Any], says: str) -> None:
    question = {"collective": "scatter", "algorithm": "binomial", "message_bytes": 8, "ranks": 4}
    model = read_platform(platform)
    assert model.predict(**question) > 0

    with pytest.raises(RequestError) as refused:
        model.predict(**question | asked)

    assert says in str(refused.value)


@pytest.mark.parametrize("size", ["64K", "64KiB", "65536", np.int64(65536)])
def test_a_size_is_a_number_or_a_text_in_python(platform: Path, size: int | str) -> None:
    predict = partial(read_platform(platform).predict, "scatter", "binomial", ranks=4)

    assert predict(message_bytes=size) == predict(message_bytes=65536)


def test_a_drawing_is_an_svg(lanewise: Lanewise, platform: Path, tmp_path: Path) -> None:
    done = lanewise(
        "model", "predict", "scatter", "--algorithm", "binomial", "--svg", "drawing.svg"
    )

    assert done.returncode == 0, done.stderr
    assert ElementTree.parse(tmp_path / "drawing.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["scater"], ["scater", "scatter"]),
        (["scatter", "--algorithm", "lineal"], ["lineal", "linear"]),
        (["scatter", "--algorithm", "linear:x"], ["x"]),
        (["scatter", "--algorithm", "linear::0"], ["linear::0", "lanes"]),
        (["scatter", "--algorithm", "binomial:64K"], ["binomial has no segments", "64K changes"]),
        (["scatter", "--algorithm", "linear:0:4"], ["linear uses no lanes", "4 changes nothing"]),
        (["scatter", "--algorithm", "linear:1:2:3"], ["linear:1:2:3", "SEGMENT"]),
        (["scatter", "--algorithm", "knomial:4:1:2:3"], ["knomial:4:1:2:3", "SEGMENT"]),
        (["scatter", "--sizes", "eight"], ["eight"]),
        (["scatter", "--model", "lmo"], ["lmo", "hockney"]),
        (["scatter", "--root", "4"], ["root 4"]),
        (["scatter", "--algorithm", "linear", "--sizes", "1,2", "--svg", "a.svg"], ["one size"]),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str], named: list[str], lanewise: Lanewise, platform: Path, tmp_path: Path
) -> None:
    done = lanewise("model", "predict", *arguments)

    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("lanewise model predict: ")
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in named), done.stderr
    assert list(tmp_path.iterdir()) == [platform]


def test_a_platform_that_is_not_there_is_named(lanewise: Lanewise) -> None:
    done = lanewise("model", "predict", "scatter", "--platform", "none.json")

    assert done.returncode == 2
    assert "none.json" in done.stderr
    assert done.stderr.count("\n") == 1


def test_more_ranks_than_there_is_memory_for_are_a_failure_in_one_line(platform: Path) -> None:
    limited = ["prlimit", f"--as={512 << 20}", find_program(PREDICT, os.environ)]
    asked = ["scatter", "--algorithm", "binomial", "--ranks", "9000000", "--sizes", "8"]

    done = subprocess.run(
        [*limited, *asked, "--platform", platform],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "lanewise-predict: out of memory; ask for fewer ranks\n"
