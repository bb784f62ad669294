# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.wavefront.run_on_ranks`: Numba kernels and built-in ones on the ranks of mpi4py."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tuned_job import Job

from lanewise import wavefront
from lanewise.launch.native import find_builds

numba = pytest.importorskip("numba", reason="install numba for kernels in Python")

pytestmark = pytest.mark.usefixtures("sweeps_built")

RANKS, ITERATIONS = 3, 20

# What a script of a job begins with.
KERNEL = """
import sys

import numba
from mpi4py import MPI

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

comm = MPI.COMM_WORLD
part = f"part.{comm.rank}"


def say(text):
    # By one rank for all, whose lines could run into each other.
    for each in comm.gather(text) or ():
        print(each)


@numba.cfunc(wavefront.row_signature())
def relax(updated, data, coefficients, row, first, end, context):
    out, above, here, below, source = updated[0], data[0], data[1], data[2], coefficients[0]
    for j in range(first, end):
        out[j] = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j] - source[j]) + row
"""


@numba.cfunc(wavefront.row_signature())
def relax(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
    out, above, here, below, source = updated[0], data[0], data[1], data[2], coefficients[0]
    for j in range(first, end):
        out[j] = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j] - source[j]) + row


@pytest.fixture
def whole(tmp_path: Path) -> wavefront.Store:
    """Make a store, and beside it its parts."""
    generator = np.random.default_rng(11)
    store = wavefront.Store.create(tmp_path / "whole", 90, 45, coefficients=1, strip_rows=8)
    for matrix in range(2):
        store.write(matrix, generator.random((90, 45)))
    wavefront.split(store, folders(tmp_path), radius=1)
    return store


def folders(parent: Path) -> list[Path]:
    """Return the names of the parts."""
    return [parent / f"part.{rank}" for rank in range(RANKS)]


def joined(folder: Path) -> np.ndarray:
    """Return the data of the parts in a folder."""
    with wavefront.join(folders(folder), folder / "joined") as store:
        return np.asarray(store)


def test_a_numba_kernel_on_ranks_leaves_the_bits_of_a_run_without_ranks(
    real_mpi: str, job: Job, whole: wavefront.Store, tmp_path: Path
) -> None:
    done = job(
        real_mpi, RANKS, KERNEL + f"""
outcome = wavefront.run_on_ranks(comm, part, relax, {ITERATIONS}, memory="64MiB", waves=3)
say(outcome.iterations)
""")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(ITERATIONS)] * RANKS
    wavefront.run(whole, relax, ITERATIONS)
    np.testing.assert_array_equal(joined(tmp_path), np.asarray(whole))


def test_a_built_in_kernel_with_parameters_runs_on_ranks_until_it_comes_to_rest(
    real_mpi: str, job: Job, whole: wavefront.Store, tmp_path: Path
) -> None:
    done = job(
        real_mpi, RANKS, KERNEL + """
with wavefront.Store.open(part) as store:
    outcome = wavefront.run_on_ranks(comm, store, "sor", 1000, parameters=[1.5], tolerance=1e-3)
say(f"{outcome.converged} {outcome.iterations}")
""")  # fmt: skip

    assert done.returncode == 0, done.stderr
    expected = wavefront.run(whole, "sor", 1000, parameters=[1.5], tolerance=1e-3)
    assert expected.converged
    assert done.stdout.splitlines() == [f"True {expected.iterations}"] * RANKS
    np.testing.assert_array_equal(joined(tmp_path), np.asarray(whole))


def test_a_run_with_a_killed_rank_is_gone_on_with_to_the_same_bits(
    real_mpi: str, job: Job, whole: wavefront.Store, tmp_path: Path
) -> None:
    killed = job(
        real_mpi, RANKS, KERNEL + f"""
import os, signal

is_to_die = comm.rank == 1

def die(share, elapsed_s):
    if is_to_die and share > 0.4:
        os.kill(os.getpid(), signal.SIGKILL)

wavefront.run_on_ranks(comm, part, relax, {ITERATIONS}, waves=2, on_progress=die)
""")  # fmt: skip
    done = job(
        real_mpi, RANKS, KERNEL + """
try:
    wavefront.resume_on_ranks(comm, part)
except RequestError as error:
    say("relax" in str(error) or error)
try:
    wavefront.resume_on_ranks(comm, part, "sor")
except RequestError as error:
    say("leave 'sor' out" in str(error) or error)
wavefront.resume_on_ranks(comm, part, relax)
""")  # fmt: skip

    assert killed.returncode != 0
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * (2 * RANKS)
    wavefront.run(whole, relax, ITERATIONS)
    np.testing.assert_array_equal(joined(tmp_path), np.asarray(whole))


def test_what_one_rank_cannot_run_is_refused_on_all(
    real_mpi: str, job: Job, whole: wavefront.Store
) -> None:
    whole.close()
    done = job(
        real_mpi, RANKS, KERNEL + """
def refused(*arguments, **options):
    try:
        wavefront.run_on_ranks(comm, *arguments, **options)
    except (RequestError, RunError) as error:
        return f"{type(error).__name__}: {error}"

last = comm.rank == 2
found = [
    refused("gone" if last else part, relax, 1),
    refused(part, "no-kernel" if last else "sor", 1),
    refused(part, relax, -1 if last else 1),
    refused(part, relax, 1, borders="neumann" if last else "fixed"),
]
with wavefront.Store.open(part) as store:
    if last:
        store.close()
    found.append(refused(store, "sor", 1))
if comm.rank == 0:
    print(*found, sep="\\n")
""")  # fmt: skip

    assert done.returncode == 0, done.stderr
    gone, unknown, negative, unlike, closed = done.stdout.splitlines()
    assert gone.startswith("RunError: rank 2 cannot take part: "), gone
    assert "is not a wavefront store" in gone
    assert unknown.startswith('RequestError: unknown kernel "no-kernel"'), unknown
    assert negative.startswith("RunError: rank 2 cannot take part: iterations is"), negative
    assert "the ranks were given different kernels, tolerances or borders" in unlike
    assert closed.startswith("RunError: rank 2 cannot take part: the store is closed"), closed


def test_a_library_for_another_mpi_than_that_of_mpi4py_is_refused(
    job: Job, whole: wavefront.Store
) -> None:
    loaded_alone, *others = [one.mpi for one in find_builds(os.environ) if one.mpi != "smpi"]
    if loaded_alone in others or not others:
        pytest.skip("Lanewise is built for one MPI only")
    whole.close()
    done = job(
        others[0], 1, """
from lanewise import wavefront
from lanewise.errors import RequestError

wavefront.Store.open("part.0", mode="r").close()
from mpi4py import MPI
try:
    wavefront.run_on_ranks(MPI.COMM_WORLD, "part.0", "sor", 1)
except RequestError as error:
    print(error)
""")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("import mpi4py.MPI before a store is opened")


def test_an_mpi_for_one_thread_is_refused(real_mpi: str, job: Job, whole: wavefront.Store) -> None:
    whole.close()
    done = job(
        real_mpi, 1, """
import mpi4py
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI

from lanewise import wavefront
from lanewise.errors import RequestError

try:
    wavefront.run_on_ranks(MPI.COMM_WORLD, "part.0", "sor", 1)
except RequestError as error:
    print(error)
""")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the MPI serves one thread only"), done.stdout
