# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over the parts of a store on MPI ranks: the same bits, also when ranks are killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.launch.tuned import build_of

SIDE, ITERATIONS, WAVES, KILLS = 384, 40, 4, 8
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"
LAUNCH = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n"]


def program(name: str) -> str:
    try:
        return str(find_program(name, os.environ))
    except RequestError as error:
        pytest.skip(str(error))


def wavefront(*words: object) -> subprocess.CompletedProcess[str]:
    line = [program("lanewise-wavefront"), *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def sums(store: Path) -> str:
    """Return the checksum of the data's checksums: equal for equal bits."""
    return str(json.loads((store / "manifest.json").read_text())["matrices"][0]["sums"])


def iterations(part: Path) -> int:
    return int(json.loads((part / "manifest.json").read_text())["iterations"])


def on_ranks(folder: Path, ranks: int, *words: object) -> list[str]:
    try:
        ranked = str(build_of("openmpi", os.environ).program("lanewise-wavefront-ranks"))
    except RequestError as error:
        pytest.skip(str(error))
    # Open MPI's launcher wants to be told twice before root may use it.
    allowed = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    return ["env", *allowed, *LAUNCH, str(ranks), ranked, str(folder / "part.%r"), *map(str, words)]


def parts_of(folder: Path, ranks: int) -> list[Path]:
    return [folder / f"part.{rank}" for rank in range(ranks)]


def next_words(parts: list[Path]) -> list[object]:
    """Return how to go on: a run that not all ranks have noted has not begun."""
    noted = [json.loads((part / "manifest.json").read_text())["run"] for part in parts]
    return ["--resume"] if all(noted) else ["--iterations", ITERATIONS, "--waves", WAVES]


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Make a store, and beside it what a run without ranks leaves."""
    for name in ("whole", "expected"):
        done = wavefront("create", tmp_path / name, "--rows", SIDE, "--cols", SIDE,
                         "--strip-rows", 16)  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = wavefront("run", tmp_path / "expected", "--iterations", ITERATIONS)
    assert done.returncode == 0, done.stderr
    return tmp_path / "whole"


def test_ranks_that_are_killed_go_on_to_the_same_bits(whole: Path) -> None:
    ranks, folder, chance = 3, whole.parent, random.Random(5)
    parts = parts_of(folder, ranks)
    assert wavefront("split", whole, *parts).returncode == 0
    killed = 0
    for _ in range(KILLS):
        line = on_ranks(folder, ranks, *next_words(parts))
        running = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2 + chance.random())
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        if running.poll() is None and (found := children.read_text().split()):
            os.kill(int(chance.choice(found)), signal.SIGKILL)
        killed += running.wait() != 0

    line = on_ranks(folder, ranks, *next_words(parts))
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert killed > 0
    assert {iterations(part) for part in parts} == {ITERATIONS}
    joined = wavefront("join", folder / "joined", *parts)
    assert joined.returncode == 0, joined.stderr
    assert sums(folder / "joined") == sums(folder / "expected")


def test_a_part_by_itself_and_a_wrong_number_of_ranks_are_refused(whole: Path) -> None:
    parts = parts_of(whole.parent, 2)
    assert wavefront("split", whole, *parts).returncode == 0

    alone = wavefront("run", parts[0], "--iterations", 1)
    assert alone.returncode == 2
    assert "part 0 of 2" in alone.stderr

    line = on_ranks(whole.parent, 1, "--iterations", 1)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is not part 0 of 1" in done.stderr
