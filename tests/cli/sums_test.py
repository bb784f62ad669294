# SPDX-License-Identifier: BSD-3-Clause
"""Exact sums and products in C++ and Fortran, on several numbers of ranks, against fractions."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from tuned_job import TIMEOUT_S, Compile, launch_line

from lanewise.launch.native import find_builds

ROOT = Path(__file__).parents[2]
VALUES = [(i * 7919 % 1009 - 504) * Fraction(2) ** (i * 37 % 120 - 60) for i in range(1, 1001)]
FACTORS = [(i * 7919 % 1009 + 1008) * Fraction(2) ** (i * 37 % 120 - 70) for i in range(1, 1001)]
ABOVE_HALF = "3F800001"  # 1 + 2^-23, the float nearest to a little more than 1 + 2^-24
PROGRAMS = {
    "mpicxx": "-std=c++20 exact_sums.cpp",
    "mpif90": f"{ROOT}/include/lanewise/sum.f90 exact_sums.f90",
}


def expected() -> list[str]:
    """Return what the programs print, from exact arithmetic."""
    exact = float(sum(VALUES))
    floats = [Fraction(struct.unpack("f", struct.pack("f", float(v)))[0]) for v in VALUES]
    product = double_bits(math.prod(FACTORS))
    wide = complex_product(VALUES[:9], FACTORS[:9])
    narrow = complex_product(range(1001, 1010), [1] * 9)
    return [
        double_bits(exact), double_bits(exact), float_bits(sum(floats, Fraction())),
        double_bits(exact) + double_bits(-exact), product, product, 2 * ABOVE_HALF,
        "".join(map(double_bits, wide)), "".join(map(float_bits, narrow)),
    ]  # fmt: skip


def complex_product(
    real: Sequence[Fraction | int], imaginary: Sequence[Fraction | int]
) -> list[Fraction]:
    """Return both parts of the exact product of complex numbers."""
    made = [Fraction(1), Fraction(0)]
    for x, y in zip(real, imaginary, strict=True):
        made = [made[0] * x - made[1] * y, made[0] * y + made[1] * x]
    return made


def double_bits(exact: Fraction | float) -> str:
    return struct.pack(">d", float(exact)).hex().upper()


def float_bits(exact: Fraction) -> str:
    return struct.pack(">f", nearest_float(exact)).hex().upper()


def nearest_float(exact: Fraction) -> float:
    """Round to the nearest float32 by looking at the neighbours of a rounded double."""
    (bits,) = struct.unpack(">I", struct.pack(">f", float(exact)))
    near = [struct.unpack(">f", struct.pack(">I", bits + step))[0] for step in (-1, 0, 1)]
    return min(near, key=lambda value: abs(Fraction(value) - exact))


@pytest.mark.parametrize("wrapper", PROGRAMS)
def test_programs_get_the_exact_sum_and_product_on_any_number_of_ranks(
    wrapper: str, compiled: Compile
) -> None:
    build = next(one for one in find_builds(os.environ) if one.mpi == "openmpi")
    folder = build.libraries
    words = f"-I{ROOT}/include {PROGRAMS[wrapper]} -L{folder} -llanewise -Wl,-rpath,{folder}"
    program = str(compiled("openmpi", wrapper, words))

    for ranks in (1, 2, 5):
        done = subprocess.run(
            [*launch_line("openmpi", ranks), program],
            capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert done.stdout.split() == expected(), f"on {ranks} ranks"


STATUS_IN_CXX = """
#include <lanewise/sum.hpp>

#include <cstdio>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    lanewise::product weight;
    try {
        weight.allreduce(MPI_COMM_NULL);
    } catch (const lanewise::sum_error& failed) {
        std::printf("%d %s", failed.status == LW_ERR_ARGUMENT, failed.what());
    }
    MPI_Finalize();
}
"""


def test_a_failure_in_cxx_has_its_status(compiled: Compile, tmp_path: Path) -> None:
    source = tmp_path / "status.cpp"
    source.write_text(STATUS_IN_CXX, encoding="utf-8")
    build = next(one for one in find_builds(os.environ) if one.mpi == "openmpi")
    linked = f"-L{build.libraries} -llanewise -Wl,-rpath,{build.libraries}"
    words = f"-std=c++20 -I{ROOT}/include {source} {linked}"
    program = compiled("openmpi", "mpicxx", words)

    done = subprocess.run(
        [*launch_line("openmpi", 1), str(program)],
        capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
    )  # fmt: skip

    assert done.stdout == "1 a value cannot be used"


FAILURES = """
program failures
    use mpi
    use lanewise_sum
    implicit none
    type(lw_accumulator) :: energy
    type(lw_product) :: weight
    integer :: status, error
    real(8) :: total
    call MPI_Init(error)
    call energy%add(2.5d0, status)
    call weight%allreduce(MPI_COMM_SELF, status)
    print "(i0)", status
    total = energy%value(status)
    print "(i0, f4.1)", status, total
    call energy%allreduce(MPI_COMM_NULL, status)
    print "(i0)", status
    call weight%allreduce(MPI_COMM_NULL)
    print "(a)", "still here"
end program
"""


def test_a_failure_in_fortran_goes_to_who_asks_for_it_or_stops_the_program_with_the_reason(
    compiled: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "failures.f90"
    source.write_text(FAILURES, encoding="utf-8")
    build = next(one for one in find_builds(os.environ) if one.mpi == "openmpi")
    module = f"-std=f2018 -Wall -Werror {ROOT}/include/lanewise/sum.f90"
    linked = f"-L{build.libraries} -llanewise -Wl,-rpath,{build.libraries}"
    program = compiled("openmpi", "mpif90", f"{module} {source} {linked}")

    done = subprocess.run(
        [*launch_line("openmpi", 1), str(program)],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stdout.split() == ["0", "0", "2.5", "1"]
    assert "lanewise: lw_product%allreduce: a value cannot be used\n" in done.stderr


IN_PYTHON = """
import numpy as np
from mpi4py import MPI

import lanewise

world = MPI.COMM_WORLD
first = world.Get_rank() == 0
assert lanewise.sum([1 + 2j] if first else [], comm=world) == 1 + 2j
narrow = np.array([0.1] if first else [], dtype=np.float32)
assert lanewise.sum(narrow if first else [], comm=world) == np.float32(0.1)
assert lanewise.prod([3.0] if first else [0.5], comm=world) == 3 * 0.5 ** (world.Get_size() - 1)
try:
    lanewise.sum([2**53 + 1, 1.0] if first else [1.0], comm=world)
except (ValueError, lanewise.errors.RunError) as error:
    assert "beyond 2^53" in str(error)
    # By one rank for all, whose lines could run into each other.
    print(*world.gather(type(error).__name__) or ())
"""


def test_ranks_in_python_agree_on_a_format_and_fail_together(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="no mpi4py; pip install 'lanewise[dev]'")
    script = tmp_path / "sums.py"
    script.write_text(IN_PYTHON, encoding="utf-8")

    done = subprocess.run(
        [*launch_line("openmpi", 3), sys.executable, str(script)],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "MPI4PY_MPIABI": "openmpi"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["RunError", "RunError", "ValueError"]
