# SPDX-License-Identifier: BSD-3-Clause
"""The module lanewise of Fortran: its structs are those of C, and its procedures do as C's do."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tuned_job import TIMEOUT_S, Compile, launch_line

from lanewise.launch.native import find_builds

ROOT = Path(__file__).parents[2]
SOURCE = f"{ROOT}/include/lanewise/lanewise.f90"
MODULE = f"-std=f2018 -Wall -Werror {SOURCE}"
# Of MPICH's module mpi, gfortran expects the types of the first call in all others.
FORMS = {
    "mpi_f08": "fortran_collectives.F90",
    "mpi": "-DWITH_MODULE -w -fallow-argument-mismatch fortran_collectives.F90",
}
COLLECTIVES = {
    *("barrier", "bcast", "ibcast", "scatter", "iscatter", "scatterv", "gather", "igather"),
    *("gatherv", "allgather", "iallgather", "allgatherv", "alltoall", "ialltoall", "reduce"),
    *("ireduce", "allreduce", "iallreduce", "in place", "reduce_scatter", "scan", "iscan"),
    *("exscan", "iexscan", "scatter of gaps", "gather of gaps", "ireduce of gaps", "bottom"),
}
REFUSALS = ["no such: not found", "with gaps: T", "not begun: T", "not waited for: T"]


def linked(family: str) -> str:
    """Return the words that find the headers and the library of a family."""
    folder = next(one for one in find_builds(os.environ) if one.mpi == family).libraries
    return f"-I{ROOT}/include -L{folder} -llanewise -Wl,-rpath,{folder}"


def printed(line: list[str]) -> list[str]:
    """Return the lines that a program printed."""
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return [text.strip() for text in done.stdout.splitlines()]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.one_mpi
def test_each_collective_of_fortran_does_what_that_of_the_mpi_does(
    form: str, mpi: str, compiled: Compile
) -> None:
    words = f"{SOURCE} {FORMS[form]} {linked(mpi)}"
    program = compiled(mpi, "mpif90", words)

    for ranks in (1, 2, 5):
        said = printed([*launch_line(mpi, ranks), str(program)])

        assert said[-4:] == REFUSALS
        told = dict(line.rsplit(" ", 1) for line in said[:-4])
        assert told == dict.fromkeys(COLLECTIVES, "T"), f"on {ranks} ranks"


def test_the_structs_of_fortran_are_those_of_c(compiled: Compile) -> None:
    words = f"{MODULE} fortran_structs.f90"
    ours = compiled("openmpi", "mpif90", f"{words} {linked('openmpi')}")
    theirs = compiled("openmpi", "mpicc", f"structs.c {linked('openmpi')}")

    fortran, c = printed([str(ours)]), printed([str(theirs)])

    assert len(c) > 40
    assert fortran == c


@pytest.mark.one_mpi
def test_the_example_measures_a_broadcast_and_makes_one(mpi: str, compiled: Compile) -> None:
    words = f"{MODULE} {ROOT}/examples/measure_bcast.f90"
    program = compiled(mpi, "mpif90", f"{words} {linked(mpi)}")

    measured, *received = sorted(printed([*launch_line(mpi, 3), str(program)]))

    number = r"\d*\.\d\d"
    pattern = rf"bcast of 65536 bytes: {number} us \({number} to {number}, \d+ repetitions\)"
    assert re.fullmatch(pattern, measured)
    assert received == [f"rank {rank} received the sum 12288.0" for rank in range(3)]


# The same three numbers exactly, and from the left, where 1 is lost beside 1e16.
SUMS_OF_A_LEVEL = """
program sums_of_a_level
    use mpi_f08
    use lanewise
    implicit none
    double precision, parameter :: numbers(3) = [1d16, 1d0, -1d16]
    type(lw_algorithm) :: exact, ordered
    double precision :: total(2)
    integer :: me
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, me)
    call lw_algorithm_with("allreduce", LW_BITS_RANKS, exact)
    call lw_algorithm_with("allreduce", LW_BITS_ORDER, ordered, name="binomial")
    call lw_allreduce(numbers(me + 1), total(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
        MPI_COMM_WORLD, exact)
    call lw_allreduce(numbers(me + 1), total(2), 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
        MPI_COMM_WORLD, ordered)
    if (me == 0) print "(2f4.1)", total
    call MPI_Finalize()
end program
"""


def test_reductions_of_fortran_have_the_bits_of_the_level_that_was_asked_for(
    mpi: str, compiled: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "sums_of_a_level.f90"
    source.write_text(SUMS_OF_A_LEVEL, encoding="utf-8")
    program = compiled(mpi, "mpif90", f"{SOURCE} {source} {linked(mpi)}")

    assert printed([*launch_line(mpi, 3), str(program)]) == ["1.0 0.0"]


NO_SUCH_POINT = """
program no_such_point
    use lanewise
    implicit none
    type(lw_samples) :: samples
    type(lw_point) :: point
    double precision, pointer :: values_s(:)
    integer :: status
    point = samples%point(1, status)
    values_s => samples%values(1)
    print "(l1, 1x, i0, 1x, l1, 1x, i0)", status == LW_ERR_ARGUMENT, point%repetitions, &
        associated(values_s), size(values_s)
end program
"""


def test_a_point_that_is_not_there_fails_and_has_no_values(
    compiled: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "no_such_point.f90"
    source.write_text(NO_SUCH_POINT, encoding="utf-8")
    program = compiled("openmpi", "mpif90", f"{MODULE} {source} {linked('openmpi')}")

    assert printed([str(program)]) == ["T 0 T 0"]


NAMES = """
use lanewise
integer :: i
i = 1
do while (lw_algorithm_name(i) /= "")
    print "(3a)", lw_algorithm_collective(i), " ", lw_algorithm_name(i)
    i = i + 1
end do
print "(i0)", len(lw_algorithm_collective(i))
end
"""


def test_algorithms_are_listed_by_name(compiled: Compile, tmp_path: Path) -> None:
    source = tmp_path / "names.f90"
    source.write_text(NAMES, encoding="utf-8")
    program = compiled("openmpi", "mpif90", f"{MODULE} {source} {linked('openmpi')}")

    *names, past_the_end = printed([str(program)])

    assert past_the_end == "0"
    assert len(names) > 50
    assert {"bcast binomial", "allreduce ring"} <= set(names)


REFUSED = {
    'call lw_operation_named("teleport", mine)':
        "lw_operation_named(teleport): not found",
    'call lw_operation_named("bcast", mine)\n'
    "call lw_measure(MPI_COMM_WORLD, mine, 7, [8_8], options, samples)":
        "lw_measure: root 7 is outside",
    'call lw_algorithm_named("bcast", "no such", reduction)':
        "lw_algorithm_named(bcast, no such): bcast has no algorithm no such; lw_algorithm_name ",
    'call lw_algorithm_named("bcast", "binomial", reduction, -5_8)':
        "lw_algorithm_named(bcast, binomial): segment_bytes is -5; say 0 or more",
    "call lw_bcast(number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, reduction)":
        "lw_bcast: the algorithm was not made; call lw_algorithm_named or lw_algorithm_with",
    "call lw_ibarrier(MPI_COMM_WORLD, reduction, pending)":
        "lw_ibarrier: the algorithm was not made; call lw_algorithm_named or lw_algorithm_with",
    'call lw_algorithm_named("bcast", "binomial", reduction)\n'
    "call lw_bcast(number, 1, MPI_INTEGER, 7, MPI_COMM_WORLD, reduction)":
        "lw_bcast: root 7 is outside the communicator of 1 rank; ranks count from 0",
    'call lw_algorithm_named("bcast", "binomial", reduction)\n'
    "call lw_bcast(numbers(1, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, reduction)":
        "lw_bcast: a buffer is a section with gaps; pass a copy",
    'call lw_algorithm_named("barrier", "dissemination", reduction)\n'
    "call lw_ibarrier(MPI_COMM_WORLD, reduction, pending)\n"
    "call lw_ibarrier(MPI_COMM_WORLD, reduction, pending)":
        "lw_ibarrier: the variable has a call in flight; end that by wait",
    'call lw_algorithm_with("scatter", LW_BITS_ORDER, reduction)':
        "lw_algorithm_with(scatter): scatter combines nothing, so its bits are the same anyway",
    'call lw_algorithm_with("allreduce", LW_BITS_RANKS, reduction)\n'
    "call lw_allreduce(1, 2, 1, MPI_REAL16, MPI_PROD, MPI_COMM_WORLD, reduction)":
        "lw_allreduce: LW_BITS_RANKS knows sums and products of doubles, floats",
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_a_failure_that_nobody_asks_for_stops_the_program_with_the_reason(
    call: str, compiled: Compile, tmp_path: Path
) -> None:
    source = tmp_path / "refused.f90"
    source.write_text(
        "use mpi_f08\nuse lanewise\ntype(lw_operation) :: mine\n"
        "type(lw_measure_options) :: options\ntype(lw_samples) :: samples\n"
        "type(lw_algorithm) :: reduction\ntype(lw_pending) :: pending\n"
        "integer :: number = 1, numbers(2, 2) = 1\n"
        f'call MPI_Init()\n{call}\nprint *, "still here"\nend\n',
        encoding="utf-8",
    )
    words = f"{SOURCE} {source} {linked('openmpi')}"
    program = compiled("openmpi", "mpif90", words)

    line = [*launch_line("openmpi", 1), str(program)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)

    assert done.returncode == 1
    assert "still here" not in done.stdout
    assert f"lanewise: {REFUSED[call]}" in done.stderr
