# SPDX-License-Identifier: BSD-3-Clause
"""Native programs whose output cannot be written fail with the reason, whatever failed first."""

import os
import subprocess
from pathlib import Path

import pytest

from lanewise.launch.native import find_program

NO_SPACE = "the output cannot be written: No space left on device; free space there\n"


def run(words: list[str | Path], output: Path) -> "subprocess.CompletedProcess[str]":
    with output.open("w") as taken:
        return subprocess.run(
            words, stdout=taken, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )


@pytest.mark.parametrize(
    "words",
    [["lanewise-prove", "scatter:8:1"], ["lanewise-schedule", "--list"], ["lanewise-native", "-h"]],
    ids=["written at once", "written at the end", "the help"],
)
def test_a_full_disk_is_called_full(words: list[str]) -> None:
    name, *rest = words

    done = run([find_program(name, os.environ), *rest], Path("/dev/full"))

    assert (done.returncode, done.stderr) == (1, f"{name}: {NO_SPACE}")


def test_an_output_over_the_limit_of_files_is_a_failure(tmp_path: Path) -> None:
    program = find_program("lanewise-schedule", os.environ)

    done = run(["prlimit", "--fsize=16", program, "--list"], tmp_path / "out")

    said = "some of the output could not be written; free space there or raise ulimit -f\n"
    assert (done.returncode, done.stderr) == (1, f"lanewise-schedule: {said}")


def test_a_file_of_links_without_an_end_takes_the_memory_and_no_more() -> None:
    program = find_program("lanewise-delay-line", os.environ)

    done = run(["prlimit", f"--as={512 << 20}", program, "/dev/zero"], Path(os.devnull))

    said = "lanewise-delay-line: out of memory; name a file of links\n"
    assert (done.returncode, done.stderr) == (1, said)
