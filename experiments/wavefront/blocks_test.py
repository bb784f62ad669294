# SPDX-License-Identifier: BSD-3-Clause
"""Blocks and the threads that sweep them fit into the memory that the experiment leaves them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.wavefront import sweeps
from experiments.wavefront.blocks import (
    BLOCKS,
    MEMORY_BYTES,
    PROCESSORS,
    PROGRAM_BYTES,
    chained_blocks,
    threads_with_room,
)

RUN = """
import json, resource, subprocess, sys
said = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps({**json.loads(said), "peak_bytes": peak}))
"""


@pytest.mark.parametrize("cores", [2, 4, 16, 256])
def test_every_block_size_is_swept_by_at_least_two_threads_within_the_memory(cores: int) -> None:
    for block in BLOCKS:
        threads = threads_with_room(block, block, cores)

        assert min(2, cores) <= threads <= cores
        assert PROGRAM_BYTES + threads * 8 * block * block * 8 <= MEMORY_BYTES


def test_waves_are_chained_over_several_sizes_of_which_all_processors_hold_a_block() -> None:
    assert chained_blocks() == [32, 64, 128, 256]


@pytest.mark.parametrize("layout", ["row-major", "block", "frontier"])
@pytest.mark.parametrize(
    ("rows", "columns", "threads"),
    [(512, 512, threads_with_room(512, 512, 16)), (512, max(chained_blocks()), PROCESSORS)],
)
def test_the_program_needs_no_more_memory_than_is_counted(
    tmp_path: Path, layout: str, rows: int, columns: int, threads: int
) -> None:
    side = 2048 if threads == PROCESSORS else 1024
    words = [layout, side, rows, columns, threads, 2, "chained"]
    line = [sweeps.native("lanewise-wavefront-blocks"), str(tmp_path), *map(str, words)]

    done = subprocess.run(
        [sys.executable, "-c", RUN, *line], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout)["peak_bytes"] <= MEMORY_BYTES
