# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE, written by others, as a second opinion on ping-pong.

NetPIPE and `measure --as netpipe` are interleaved, and the ratio of each pair counts once.  The
interval of the median ratio over all pairs must cover 1 or come within 5 % of it.  Nothing is
repeated until it agrees; where the interval is too wide to exclude a factor of two, the test says
so and skips.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.peers_agree.experiment import (
    PROGRAM,
    TOLERANCE,
    netpipe_s,
    take_turns,
)
from lanewise.results.read import load

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]
MESSAGE_BYTES = 4096
PAIRS = 10
# A misread definition: a whole for half a round trip.
MISREAD = 2.0


def test_pingpong_agrees_with_netpipe(lanewise: Lanewise, tmp_path: Path) -> None:
    if shutil.which(PROGRAM) is None:
        pytest.skip("NetPIPE is not installed; apt-get install netpipe-openmpi")

    trips = [0]

    def ours() -> float:
        path = tmp_path / "ours.jsonl"
        path.unlink(missing_ok=True)
        done = lanewise(
            "measure", "pingpong", "-n", 2, "--launcher", "openmpi", "--sizes", MESSAGE_BYTES,
            "--as", "netpipe", "--repetitions", 1, "--launches", 1, "-o", path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        point = load(path).looped[0]
        trips[0] = point.calls or 0
        return point.median_s

    ours()
    found = take_turns(ours, lambda: netpipe_s(tmp_path, MESSAGE_BYTES, trips[0]), PAIRS)

    low, high = found.interval
    assert found.apart <= TOLERANCE, f"ratios {found.ratios}, {low} to {high}"
    if not 1 / MISREAD < low <= high < MISREAD:
        pytest.skip(f"too busy a machine to exclude a factor of two: {low:.2f} to {high:.2f}")
