# SPDX-License-Identifier: BSD-3-Clause
"""`measure --as`: the loops of other tools on a real MPI, their tables, and what is kept."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lanewise.imports.load import load as load_any
from lanewise.launch.native import MEASURE, find_program
from lanewise.results.compare import compare
from lanewise.results.read import load
from lanewise.suite.parity import PARITIES
from lanewise.suite.printed_as import TABLES

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]
# The tools repeat a large message a tenth as often as a small one.
SIZES = (16384, 65536)
QUICK = ("-n", 2, "--sizes", "16K,64K", "--repetitions", 3, "--time-limit", 0.2)
TWICE = (*QUICK, "--launches", 2)
ONCE = (*QUICK, "--launches", 1)


def suite_of(definition: str) -> list[str]:
    """Return the operations whose loops a definition has, as the guide lists them."""
    return sorted({one.operation for one in PARITIES
                   if one.suite.lower().startswith(definition) and one.operation})  # fmt: skip


def plan_of(definition: str, operation: str) -> subprocess.CompletedProcess[str]:
    """Return what the native program says to one operation of a definition."""
    program = str(find_program(MEASURE, os.environ))
    words = [operation, f"--as={definition}", "--ranks=4", "--sizes=64", "--plan"]
    return subprocess.run(
        [program, *words], capture_output=True, text=True, check=False, timeout=30
    )


@pytest.mark.parametrize("definition", TABLES)
def test_every_benchmark_that_the_guide_marks_has_a_loop(definition: str) -> None:
    said = {name: plan_of(definition, name).stderr for name in suite_of(definition)}

    assert {name: text for name, text in said.items() if "has no benchmark" in text} == {}


@pytest.mark.parametrize("definition", TABLES)
def test_an_operation_without_a_loop_is_refused_by_name(definition: str) -> None:
    done = plan_of(definition, "partitioned")

    assert done.returncode == 2
    assert 'has no benchmark of "partitioned"; leave it out' in done.stderr


@pytest.mark.parametrize("option", ["--pipeline=10", "--adaptive=0.1", "--buffers=cold"])
def test_what_a_loop_leaves_no_room_for_is_refused(option: str, lanewise: Lanewise) -> None:
    done = lanewise("measure", "pingpong", "-n", 2, "--as", "osu", option)

    assert done.returncode == 2
    assert "leave them out with --as osu" in done.stderr


@pytest.mark.one_mpi
def test_the_printed_table_is_what_the_file_holds(
    real_mpi: str, lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise(
        "measure", "pingpong", "bcast", *TWICE, "--as", "osu", "--launcher", real_mpi,
        "-o", "s.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (tmp_path / "printed.txt").write_text(done.stdout)

    printed = load_any(tmp_path / "printed.txt", 2)
    samples = load(tmp_path / "s.jsonl")

    assert [one.message_bytes for one in samples.points] == [*SIZES, *SIZES]
    assert [(one.operation, one.definition) for one in samples.looped] == [
        ("pingpong", "osu"), ("pingpong", "osu"), ("bcast", "osu"), ("bcast", "osu"),
    ]  # fmt: skip
    kept = {(one.operation, one.message_bytes): one.median_s for one in samples.looped}
    shown = {(one.operation, one.message_bytes): one.mean_s for one in printed.points}
    assert shown == {key: pytest.approx(time_s, abs=0.006e-6) for key, time_s in kept.items()}
    assert done.stdout.count("# OSU beside isolated repetitions") == 2


def test_reduce_scatter_is_the_same_call_under_either_name_of_its_size(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    for definition in ("imb", "osu"):
        done = lanewise(
            "measure", "reduce_scatter", *ONCE, "--as", definition, "--launcher", "openmpi",
            "-o", f"{definition}.jsonl",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    # A vector is two blocks, one for each rank.
    blocks = [size // 2 for size in SIZES]
    assert [one.message_bytes for one in load(tmp_path / "osu.jsonl").looped] == blocks
    assert [one.message_bytes for one in load(tmp_path / "imb.jsonl").looped] == [*SIZES]


def test_a_comparison_with_a_tool_takes_what_was_measured_as_it_does(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    done = lanewise(
        "measure", "pingpong", *ONCE, "--as", "osu", "--launcher", "openmpi", "-o", "s.jsonl"
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "osu.txt").write_text(done.stdout)

    found = compare(load(tmp_path / "s.jsonl"), load_any(tmp_path / "osu.txt"))

    assert [one.ratio for one in found.ratios] == pytest.approx([1.0, 1.0], abs=0.1)
    assert not any("isolated" in note for note in found.notes)


def test_report_prints_the_table_again_and_refuses_a_file_without_such_points(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    line = ("measure", "pingpong", *TWICE, "--launcher", "openmpi")
    done = lanewise(*line, "--as", "imb", "-o", "s.jsonl")
    isolated = lanewise(*line, "-o", "isolated.jsonl")
    assert (done.returncode, isolated.returncode) == (0, 0)

    again = lanewise("report", "--format", "text", "--as", "imb", "s.jsonl")
    refused = lanewise("report", "--format", "text", "--as", "imb", "isolated.jsonl")

    assert again.stdout == done.stdout
    assert refused.returncode == 2
    assert "measure with --as imb" in refused.stderr


def test_an_interrupted_file_goes_on_with_the_points_that_it_lacks(
    lanewise: Lanewise, tmp_path: Path
) -> None:
    line = ("measure", "pingpong", *TWICE, "--launcher", "openmpi", "-o", "s.jsonl", "--as", "osu")
    assert lanewise(*line).returncode == 0
    path = tmp_path / "s.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]))

    again = lanewise(*line, "--resume")
    other = lanewise(*line[:-2], "--resume")

    assert again.returncode == 0, again.stderr
    records = [json.loads(line) for line in path.read_text().splitlines()]
    keys = [
        (one["launch"], one["message_bytes"], one.get("definition", ""))
        for one in records
        if one["record"] == "point"
    ]
    assert sorted(keys) == [
        (launch, size, name) for launch in (1, 2) for size in SIZES for name in ("", "osu")
    ]
    assert 'was measured with definition "osu", not absent' in other.stderr
