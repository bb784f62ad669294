# SPDX-License-Identifier: BSD-3-Clause
"""The preloaded library with a real GPU, under an Open MPI that takes its memory."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from conftest import Lanewise
from tuned_job import Compile, Run, counted, launch_line, tuning

PROGRAM = "gpu_memory.c -ldl"
LEFT = "calls with memory of a GPU are left to the MPI"
LEFT_NONBLOCKING = "a GPU's driver is loaded: nonblocking calls are left to the MPI"


def why_not() -> str:
    """Return why nothing can be tried here, empty where it can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no driver of CUDA is installed"
    if driver.cuInit(0) != 0:
        return "the driver of CUDA finds no GPU"
    try:
        told = subprocess.run(
            ["ompi_info", "--parsable", "--all"], capture_output=True, text=True, check=False
        )
    except OSError:
        return "Open MPI is not installed"
    if "mpi_built_with_cuda_support:value:true" not in told.stdout:
        return "Open MPI is built without CUDA; configure it with --with-cuda"
    return ""


@pytest.fixture
def program(compiled: Compile) -> str:
    """Build the program that has buffers everywhere."""
    if reason := why_not():
        pytest.skip(reason)
    return str(compiled("openmpi", "mpicc", PROGRAM))


@pytest.mark.parametrize("ranks", [2, 4])
def test_calls_with_memory_of_a_gpu_are_those_of_the_mpi_beside_calls_that_follow_rules(
    ranks: int, program: str, run: Run, tmp_path: Path
) -> None:
    rules = tuning("openmpi", ranks=ranks, layout=[ranks])

    done = run([*launch_line("openmpi", ranks), program, "all"], rules)

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "all right"), done.stderr
    assert done.stderr.count(LEFT) == 1
    assert done.stderr.count(LEFT_NONBLOCKING) == 1
    intercepted, forwarded = counted(tmp_path, "intercepted"), counted(tmp_path, "forwarded")
    assert (intercepted["bcast"], forwarded["bcast"]) == (8, 10)
    assert (intercepted["allreduce"], forwarded["allreduce"]) == (14, 22)
    # Persistent ones in memory of the host, each started twice; nonblocking ones are forwarded.
    assert (intercepted["ibcast"], forwarded["ibcast"]) == (16, 38)
    assert (intercepted["iallreduce"], forwarded["iallreduce"]) == (24, 12)


@pytest.mark.parametrize(
    ("level", "ranks"), [("order", 2), ("order", 4), ("ranks", 1), ("ranks", 2), ("ranks", 4)]
)
def test_reductions_of_memory_of_a_gpu_are_right_where_the_others_keep_their_bits(
    level: str, ranks: int, program: str, lanewise: Lanewise
) -> None:
    line = [*launch_line("openmpi", ranks), program, "all"]

    done = lanewise("run", "--same-bits", level, "--", *line)

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "all right"), done.stderr
    told = "calls of allreduce are left to the MPI: their bits may differ"
    assert done.stderr.count(f" {told}") == 1


@pytest.mark.parametrize("options", [(), ("--same-bits", "order")])
def test_a_driver_that_the_mpi_has_loaded_is_known_before_the_program_asks_for_it(
    options: tuple[str, ...], program: str, run: Run
) -> None:
    done = run(
        [*launch_line("openmpi", 2), program, "late"],
        tuning("openmpi", ranks=2, layout=[2]),
        *options,
    )

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "all right"), done.stderr
    assert done.stderr.count(LEFT) == 1


def test_results_in_the_memory_of_a_gpu_are_compared(program: str, lanewise: Lanewise) -> None:
    line = [*launch_line("openmpi", 2)[:-1], "N", program, "all"]

    done = lanewise("check", "same-bits", "--ranks", "2", "--", *line)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 runs have the same bits" in done.stdout
