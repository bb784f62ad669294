# SPDX-License-Identifier: BSD-3-Clause
"""Examples that compute nothing with an argument refuse it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[1] / "build/release/bin"


@pytest.mark.parametrize(
    ("name", "argument", "usage"),
    [
        ("frames", "-5", "frames [FRAMES(1..)]"),
        ("frames", "abc", "frames [FRAMES(1..)]"),
        ("gas", "0", "gas [STEPS(1..) [exact]]"),
        ("gas", "exact", "gas [STEPS(1..) [exact]]"),
    ],
)
def test_a_count_that_is_none_is_refused_with_what_to_give(
    name: str, argument: str, usage: str
) -> None:
    program = PROGRAMS / name
    if not program.exists():
        pytest.skip(f"no build/release/bin/{name}; make build")

    done = subprocess.run([program, argument], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    # The MPI may warn of this machine before.
    assert f"use: {usage}" in done.stderr.splitlines()
