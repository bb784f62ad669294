# SPDX-License-Identifier: BSD-3-Clause
"""Applications of our own text end with the right numbers, on any number of ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.applications import Application, fourier_transform, integer_sort, ssor
from lanewise.launch.native import find_builds

MPIS = ("openmpi", "mpich")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Of class S after six iterations: NAS Parallel Benchmarks, NAS-95-020, FT.
CHECKSUM = (5.542683411902e02, 4.932597244941e02)


def judged(mpi: str, what: Application, ranks: int, folder: Path) -> tuple[float, str]:
    launcher = [f"mpirun.{mpi}", *(["--oversubscribe"] if mpi == "openmpi" else [])]
    done = subprocess.run([*launcher, "-n", str(ranks), *what.words], cwd=folder, text=True,
                          env={**os.environ, **AS_ROOT}, capture_output=True, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = what.judge(done.stdout, folder)
    assert found is not None, done.stdout
    return found


def built(mpi: str, application: str) -> Application:
    if shutil.which(f"mpirun.{mpi}") is None:
        pytest.skip(f"mpirun.{mpi} is not installed")
    if not any(build.mpi == mpi for build in find_builds(os.environ)):
        pytest.skip(f"there is no native build for {mpi}; make build MPI={mpi}")
    if application == "integer sort":
        return integer_sort(mpi, 14, 2)
    if application == "SSOR":
        return ssor(mpi, 20, 6)
    return fourier_transform(mpi, (6, 6, 6), 6)


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_fourier_transform_ends_with_the_checksum_of_its_specification(
    mpi: str, ranks: int, tmp_path: Path
) -> None:
    _, result = judged(mpi, built(mpi, "Fourier transform"), ranks, tmp_path)

    assert [float(word) for word in result.split()] == pytest.approx(CHECKSUM, rel=1e-11)


@pytest.mark.parametrize("mpi", MPIS)
def test_ssor_ends_with_the_same_bits_on_any_number_of_ranks(mpi: str, tmp_path: Path) -> None:
    what = built(mpi, "SSOR")

    results = {judged(mpi, what, ranks, tmp_path)[1] for ranks in (1, 2, 3)}

    assert len(results) == 1


@pytest.mark.parametrize("mpi", MPIS)
def test_the_integer_sort_finds_its_keys_in_order(mpi: str, tmp_path: Path) -> None:
    seconds, _ = judged(mpi, built(mpi, "integer sort"), 3, tmp_path)

    assert seconds > 0


@pytest.mark.parametrize("application", ["integer sort", "Fourier transform", "SSOR"])
@pytest.mark.parametrize("text", ["", "NOT SORTED, 1.0 s\n", "THE ERROR HAS GROWN, 1.0 s\n"])
def test_a_run_that_was_not_verified_has_no_time(
    application: str, text: str, tmp_path: Path
) -> None:
    what = built("openmpi", application)

    assert what.judge(text, tmp_path) is None
