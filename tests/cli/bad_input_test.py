# SPDX-License-Identifier: BSD-3-Clause
"""Bad input to `lanewise measure`: one line that names the value, status 2, nothing written."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lanewise.results import specimen

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

REFUSED = [
    (["scater"], ["scater", "scatter"]),
    ([], ["operation"]),
    (["scatter", "--sizes", "8,eight"], ["eight"]),
    (["scatter", "--sizes", "-8"], ["-8"]),
    (["scatter", "--sizes", "1M:1K:x2"], ["1M:1K:x2"]),
    (["scatter", "--sizes", "1:8:x1"], ["x1"]),
    (["scatter", "--sizes", "0:8:0"], ["0:8:0"]),
    (["scatter", "--sizes", "1:64:x2,8:128:x2"], ["8"]),
    (["scatter", "--confidence", "0"], ["confidence", "0"]),
    (["scatter", "--confidence", "1"], ["confidence", "1"]),
    (["scatter", "--confidence", "95"], ["confidence", "95"]),
    (["scatter", "--confidence", "high"], ["confidence", "high"]),
    (["scatter", "--error", "-1"], ["error", "-1"]),
    (["scatter", "--repetitions", "100:10"], ["100", "10"]),
    (["scatter", "--repetitions", "many"], ["many"]),
    (["scatter", "--root", "4"], ["root", "4"]),
    (["scatter", "--root", "-1"], ["root", "-1"]),
    (["scatter", "--method", "mean"], ["method", "mean", "max"]),
    (["scatter", "--start", "gun"], ["start", "gun", "barrier"]),
    (["scatter", "--clock", "sundial"], ["clock", "sundial", "monotonic"]),
    (["scatter", "--rule", "thumb"], ["rule", "thumb", "median"]),
    (["scatter", "--resync", "soon"], ["--resync", "soon", "10s"]),
    (["scatter", "--resync", "0s"], ["synchronising every 0", "above 0"]),
    (["scatter", "--time-limit", "-5"], ["limit", "-5"]),
    (["scatter", "--pipeline", "0"], ["pipeline"]),
    (["scatter", "--buffers", "lukewarm"], ["lukewarm", "cold"]),
    (["scatter", "--buffers", "cold", "--pipeline", "2"], ["cold", "pipeline"]),
    (["pairs", "--buffers", "huge"], ["pairs", "--buffers"]),
    (["pairs", "--order", "random"], ["order", "random", "parallel"]),
    (["pairs", "--reply", "some"], ["some"]),
    (["scatter", "--adaptive", "-1"], ["adaptive", "-1"]),
    (["--operation", "./none.so:mine"], ["none.so"]),
    (["--operation", "none.so"], ["none.so"]),
    (["scatter", "-n", "0"], ["-n 0"]),
    (["scatter", "-n", "two"], ["-n two"]),
    (["scatter", "--launcher", "opnmpi"], ["opnmpi", "openmpi"]),
    (["scatter", "--launcher-args", "'"], ["--launcher-args", "quot"]),
    (["scatter", "--launcher", "smpi", "--smpi-speeds", "fast"], ["--smpi-speeds", "fast"]),
    (["scatter", "--resume"], ["--resume", "-o"]),
    (["scatter", "-o", "none/s.jsonl"], ["none"]),
    (["scatter", "-o", "/proc/s.jsonl"], ["/proc"]),
    (["scatter", "-o", "/"], ["/", "folder"]),
    (["scatter", "-o", "-"], ["-o -", "./-"]),
    (["lanes", "-o", "-"], ["-o -", "./-"]),
    (["lanes", "--list"], ["--list has no meaning for lanes"]),
    (["lanes", "--sizes", "8"], ["--sizes has no meaning for lanes"]),
    (["lanes", "--launches", "3"], ["--launches has no meaning for lanes"]),
    (["lanes", "--resume", "-o", "p.json"], ["--resume has no meaning for lanes"]),
    (["scatter", "--hosts", ","], ["--hosts ','", "names no host"]),
    (["scatter", "--launches", "9" * 20], ["--launches 999", "2147483647"]),
    (["scatter", "-o", "a" * 300], ["aaa", "too long"]),
    (["scatter", "--confidense", "0.9"], ["--confidense", "--confidence"]),
]


def assert_refused(done: "subprocess.CompletedProcess[str]", named: list[str]) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("lanewise measure: ")
    assert done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in named), done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED]
)
def test_bad_input_is_refused_in_one_line_before_anything_is_written(
    lanewise: Lanewise, tmp_path: Path, arguments: list[str], named: list[str]
) -> None:
    output = [] if {"-o", "--resume"} & set(arguments) else ["-o", "s.jsonl"]

    done = lanewise("measure", "-n", 4, *arguments, *output)

    assert_refused(done, named)
    assert list(tmp_path.iterdir()) == []


def test_a_library_without_the_symbol_is_refused(
    lanewise: Lanewise, user_library: Path, tmp_path: Path
) -> None:
    operation = f"{user_library}:nothing"

    done = lanewise("measure", "-n", 2, "--operation", operation, "-o", "s.jsonl")

    assert_refused(done, ["nothing"])
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_refused_and_left_as_it_is(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("precious\n")

    done = lanewise("measure", "scatter", "-n", 2, "-o", "s.jsonl")

    assert_refused(done, ["s.jsonl", "--resume"])
    assert path.read_text() == "precious\n"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("something else\n", ["s.jsonl"]),
        (None, ["s.jsonl", "version"]),
    ],
    ids=["not a result file", "newer schema"],
)
def test_going_on_with_a_file_of_another_kind_is_refused_and_leaves_it(
    lanewise: Lanewise, tmp_path: Path, content: str | None, named: list[str]
) -> None:
    path = specimen.write(tmp_path / "s.jsonl", [specimen.context_record(version=99)])
    if content is not None:
        path.write_text(content)
    before = path.read_bytes()

    done = lanewise("measure", "scatter", "-n", 2, "--sizes", "8", "-o", "s.jsonl", "--resume")

    assert_refused(done, named)
    assert path.read_bytes() == before


def test_going_on_under_other_conditions_is_refused_and_leaves_the_file(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    few = ("--sizes", "8", "--repetitions", "10", "--launches", 1)
    command = ("measure", "scatter", *few, "-o", "s.jsonl")
    assert lanewise(*command, "-n", 2).returncode == 0
    before = (tmp_path / "s.jsonl").read_bytes()

    done = lanewise(*command, "-n", 3, "--resume")

    assert_refused(done, ["s.jsonl", "ranks"])
    assert (tmp_path / "s.jsonl").read_bytes() == before
