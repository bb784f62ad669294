# SPDX-License-Identifier: BSD-3-Clause
"""The memory budget is what a sweep takes, measured, whichever way it is begun."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.wavefront.watched import watch
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.launch.tuned import build_of

PROGRAM = "lanewise-wavefront"
FRONT_END = "lanewise-wavefront-memory"
RANKED = "lanewise-wavefront-ranks"
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"
SQUARE = ["--rows", "2048", "--cols", "2048", "--kernel", "sor"]
BOX = ["--shape", "256,128,128", "--kernel", "sor-3d"]

# Long rows and a large radius: what threads remember of rows is a large part of the whole.
OWN_KERNEL = """
import re, sys
from pathlib import Path
import numba, numpy as np
from lanewise import wavefront

budget, tolerance, directions, watch = (eval(word) for word in sys.argv[2:])

@numba.cfunc(wavefront.row_signature(directed=True))
def k(updated, data, coefficients, row, first, end, iteration, down, right, context):
    out, here = updated[0], data[8]
    for n in range(end - first):
        j = first + n if right > 0 else end - 1 - n
        out[j] = 0.5 * here[j] + 0.25 * here[j - 1]

def resident(word):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(word + r":\\s*(\\d+)", status)[1])

rows, columns = 96, 200_000
with wavefront.Store.create(sys.argv[1], rows, columns) as store:
    store.write(0, np.broadcast_to(np.linspace(0, 1, columns), (rows, columns)))
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    kernel = wavefront.RowKernel(k, radius=8, watch_writes=watch)
    wavefront.run(store, kernel, 2, memory=budget, tolerance=tolerance, threads=2,
                  directions=directions)
    print(resident("VmHWM") - before)
"""


@pytest.fixture(autouse=True)
def built() -> None:
    try:
        find_program(PROGRAM, os.environ)
    except RequestError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("tolerance", "directions", "watch"),
    [
        pytest.param("1e-9", "'down-right'", "False", marks=pytest.mark.thorough),
        pytest.param("None", "'symmetric'", "False", marks=pytest.mark.thorough),
        ("1e-9", "'symmetric'", "True"),
    ],
)
def test_a_kernel_of_ones_own_stays_within_the_budget(
    tmp_path: Path, tolerance: str, directions: str, watch: str
) -> None:
    pytest.importorskip("numba", reason="install numba for kernels in Python")
    budget_bytes = 160 << 20

    done = subprocess.run(
        [sys.executable, "-c", OWN_KERNEL, str(tmp_path / "store"), str(budget_bytes), tolerance,
         directions, watch],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= budget_bytes


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (SQUARE, ["--tolerance", "1e-9"]),
        (SQUARE, ["--directions", "fast-sweeping"]),
        (SQUARE, ["--kernel", "jacobi", "--tolerance", "1e-9"]),
        (SQUARE, ["--until", "residual<1e-9*first", "--every", "2"]),
        (SQUARE, ["--borders", "periodic"]),
        (BOX, ["--tolerance", "1e-9"]),
        (BOX, ["--directions", "fast-sweeping-3d", "--until", "norm<1e-9", "--every", "2"]),
    ],
    ids=" ".join,
)
def test_a_run_of_a_built_in_kernel_stays_within_the_budget(
    tmp_path: Path, shape: list[str], options: list[str]
) -> None:
    program, budget_bytes = str(find_program(PROGRAM, os.environ)), 48 << 20
    store = tmp_path / "store"
    subprocess.run([program, "create", str(store), *shape], check=True)

    done = subprocess.run(
        [program, "run", str(store), "--iterations", "4", "--memory", str(budget_bytes), "--json",
         *options],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout.splitlines()[-1])
    assert end["peak_memory_bytes"] <= budget_bytes


@pytest.mark.parametrize(
    ("way", "layout"), [("c", "row-major"), ("cpp", "row-major"), ("cpp-vectors", "skewed")]
)
def test_a_sweep_begun_in_c_or_cpp_stays_within_the_budget(
    tmp_path: Path, way: str, layout: str
) -> None:
    budget_bytes, store = 48 << 20, str(tmp_path / "store")
    try:
        front_end = str(find_program(FRONT_END, os.environ))
    except RequestError as error:
        pytest.skip(str(error))
    create = [str(find_program(PROGRAM, os.environ)), "create", store, *SQUARE]
    subprocess.run([*create, "--layout", layout], check=True)

    found = watch([front_end, way, store, "4", str(budget_bytes)])

    assert max(peak for _, peak in found.peaks) <= budget_bytes


def test_each_of_two_ranks_stays_within_the_budget(tmp_path: Path) -> None:
    program, budget_bytes = str(find_program(PROGRAM, os.environ)), 48 << 20
    try:
        ranked = str(build_of("openmpi", os.environ).program(RANKED))
    except RequestError as error:
        pytest.skip(str(error))
    parts = [str(tmp_path / f"part.{rank}") for rank in range(2)]
    # Each part is larger than the budget.
    whole = [str(tmp_path / "whole"), "--rows", "4096", "--cols", "2048", "--kernel", "sor"]
    subprocess.run([program, "create", *whole], check=True)
    subprocess.run([program, "split", whole[0], *parts], check=True)
    # Open MPI's launcher wants to be told twice before root may use it.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    found = watch(
        [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "2", ranked,
         str(tmp_path / "part.%r"), "--iterations", "4", "--memory", str(budget_bytes),
         "--tolerance", "0"],
        allowed,
    )  # fmt: skip

    peaks = found.peaks_of(Path(ranked).resolve().name)
    assert len(peaks) == 2
    assert max(peaks) <= budget_bytes


MAPPED = """
import re, sys
from pathlib import Path
import numpy as np
from lanewise import wavefront
from lanewise.wavefront import library

def resident(word):
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(word + r":\\s*(\\d+)", status)[1])

u = np.load(sys.argv[1], mmap_mode="r+")
library.loaded()
before = resident("VmRSS")
wavefront.run([u, u], "sor", 2, memory=int(sys.argv[2]), threads=2)
print(resident("VmHWM") - before)
"""


def test_arrays_that_are_mapped_stay_within_the_budget(tmp_path: Path) -> None:
    budget_bytes, file = 48 << 20, tmp_path / "u.npy"
    rows, columns = 4096, 4096
    array = np.lib.format.open_memmap(file, "w+", "float64", (rows, columns))
    for row in range(rows):
        array[row] = row / rows
    array.flush()

    done = subprocess.run(
        [sys.executable, "-c", MAPPED, str(file), str(budget_bytes)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= budget_bytes
