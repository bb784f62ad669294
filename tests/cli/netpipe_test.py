# SPDX-License-Identifier: BSD-3-Clause
"""NetPIPE, written by others, as a second opinion on ping-pong.

NetPIPE reports half of the shortest round trip of seven series without a pause between trips, so
the series compared with it are pipelined, as long and as many (the shortest of more would be
shorter), and their shortest counts.  A misread definition (whole for half a round trip, a sum for
a mean) keeps the two apart by a factor of two or more for ever; a busy machine only delays their
agreement, so they take turns until their medians agree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from lanewise.results.read import load

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]
MESSAGE_BYTES = 4096
SERIES = 7
SERIES_TRIPS = 200
TURNS_MAX = 20


def netpipe_s(folder: Path) -> float:
    """Return NetPIPE's one-way time of one message, in seconds."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    sizes = ["-l", str(MESSAGE_BYTES), "-u", str(MESSAGE_BYTES + 1), "-p", "0"]
    trips = ["-n", str(SERIES_TRIPS)]
    subprocess.run(
        ["mpirun.openmpi", "-n", "2", "NPopenmpi", *sizes, *trips, "-o", "netpipe.txt"],
        cwd=folder, env=os.environ | root, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    size, _, one_way_s = (folder / "netpipe.txt").read_text().split()[:3]
    assert int(size) == MESSAGE_BYTES
    return float(one_way_s)


def ours_s(lanewise: Lanewise, folder: Path) -> float:
    """Return the same of `lanewise measure`."""
    (folder / "ours.jsonl").unlink(missing_ok=True)
    series = ["--pipeline", SERIES_TRIPS, "--repetitions", SERIES, "-o", "ours.jsonl"]
    done = lanewise(
        "measure", "pingpong", "-n", 2, "--launcher", "openmpi", "--sizes", MESSAGE_BYTES, *series
    )
    assert done.returncode == 0, done.stderr
    return min(load(folder / "ours.jsonl").points[0].samples_s)


def test_pingpong_agrees_with_netpipe(lanewise: Lanewise, tmp_path: Path) -> None:
    if shutil.which("NPopenmpi") is None:
        pytest.skip("NetPIPE is not installed; apt-get install netpipe-openmpi")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(TURNS_MAX):
        theirs.append(netpipe_s(tmp_path))
        ours.append(ours_s(lanewise, tmp_path))
        if median(ours) / median(theirs) == pytest.approx(1.0, abs=0.3):
            return
    pytest.fail(f"one-way times: {ours} s here, {theirs} s by NetPIPE")
