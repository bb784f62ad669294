# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over three dimensions: by command and from Python, killed and resumed, on ranks."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError
from lanewise.launch.native import find_program
from lanewise.launch.tuned import build_of
from processes import started

pytestmark = pytest.mark.usefixtures("sweeps_built")

SIDES = (11, 7, 9)
U, F = np.random.default_rng(7).random((2, *SIDES))
CORNERS = ("down-right", "down-left", "down-back-right", "down-back-left",
           "up-back-left", "up-back-right", "up-left", "up-right")  # fmt: skip
MPIRUN = shutil.which("mpirun.openmpi") or "mpirun"


def program(*words: object) -> str:
    line = [str(find_program("lanewise-wavefront", os.environ)), *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def sor(u: Any, f: Any, direction: str = "down-right", omega: Any = 1.5) -> None:
    """Iterate once, as three nested loops; `omega` may differ from plane to plane."""
    weights = np.broadcast_to(omega, len(u))
    planes, lines, columns = (range(1, side - 1) for side in u.shape)
    for i, j, k in itertools.product(
        reversed(planes) if "up" in direction else planes,
        reversed(lines) if "back" in direction else lines,
        reversed(columns) if "left" in direction else columns,
    ):
        before = (u[i - 1, j, k] + u[i, j - 1, k]) + u[i, j, k - 1]
        after = (u[i, j, k + 1] + u[i, j + 1, k]) + u[i + 1, j, k]
        w = weights[i]
        u[i, j, k] = (1 - w) * u[i, j, k] + w / 6 * ((before + after) - f[i, j, k])


def test_arrays_of_three_dimensions_get_the_bits_of_the_loops() -> None:
    found, expected = U.copy(), U.copy()

    wavefront.run([found, F], "sor-3d", 10, directions="fast-sweeping-3d")

    for corner in (*CORNERS, *CORNERS[:2]):
        sor(expected, F, corner)
    np.testing.assert_array_equal(found, expected)


def test_a_store_is_read_like_an_array_of_three_dimensions(tmp_path: Path) -> None:
    with wavefront.Store.create(tmp_path / "store", SIDES, coefficients=1, strip_rows=2) as store:
        store.write(0, U)

        assert (store.shape, store.ndim, len(store)) == (SIDES, 3, SIDES[0])
        np.testing.assert_array_equal(np.asarray(store), U)
        np.testing.assert_array_equal(store.read(0), U)
        for key in (3, -1, slice(2, 9, 3), (4, 5), (4, 5, 6), (slice(2, 5), 3), (slice(1, 4), 2, 5),
                    (..., 3), (7, slice(None), 2)):  # fmt: skip
            np.testing.assert_array_equal(store[key], U[key])
        with pytest.raises(IndexError, match="4 indices for the three"):
            store[1, 2, 3, 4]


@pytest.mark.parametrize(("borders", "padding"), [("periodic", "wrap"), ("neumann", "symmetric")])
@pytest.mark.parametrize("sides", [(9, 7, 8), (6, 400, 350)], ids=["small", "planes of a MiB"])
def test_borders_of_planes_are_those_that_numpy_pads(
    borders: str, padding: str, sides: tuple[int, int, int]
) -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")
    lines, columns = sides[1:]

    @numba.cfunc(wavefront.row_signature("float64"))
    def mean(
        updated: Any, data: Any, _coefficients: Any, _row: Any, _first: Any, _end: Any, _more: Any
    ) -> None:
        out, above, here, below = updated[0], data[0], data[1], data[2]
        for j in range(1, lines - 1):
            for at in range(j * columns + 1, (j + 1) * columns - 1):
                before = (above[at] + here[at - columns]) + here[at - 1]
                out[at] = 0.125 * (before + ((here[at + 1] + here[at + columns]) + below[at]))

    u = np.random.default_rng(5).random(sides)
    inner = u[1:-1, 1:-1, 1:-1].copy()
    for _ in range(4):
        b = np.pad(inner, 1, padding)
        before = (b[:-2, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1]) + b[1:-1, 1:-1, :-2]
        after = (b[1:-1, 1:-1, 2:] + b[1:-1, 2:, 1:-1]) + b[2:, 1:-1, 1:-1]
        inner = 0.125 * (before + after)

    wavefront.run([u], wavefront.RowKernel(mean, reads="previous"), 4, borders=borders)

    np.testing.assert_array_equal(u, np.pad(inner, 1, padding))


@pytest.mark.parametrize(
    ("sides", "radius", "borders"),
    [((8, 400, 350), 2, "fixed"), ((40, 20000), 5, "neumann")],
    ids=["planes of a MiB", "long rows"],
)
def test_arrays_of_long_rows_are_swept_by_wide_stencils(
    sides: tuple[int, ...], radius: int, borders: str
) -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")
    lines, columns = (1, *sides[1:])[-2:]
    first, last = (radius, lines - radius) if len(sides) == 3 else (0, 1)

    @numba.cfunc(wavefront.row_signature("float64"))
    def far(
        updated: Any, data: Any, _coefficients: Any, _row: Any, _first: Any, _end: Any, _more: Any
    ) -> None:
        out, above, below = updated[0], data[0], data[2 * radius]
        for j in range(first, last):
            for at in range(j * columns + radius, (j + 1) * columns - radius):
                out[at] = 0.5 * (above[at] + below[at])

    u = np.random.default_rng(5).random(sides)
    expected = u.copy()
    inner = tuple(slice(radius, -radius) for _ in sides)
    across = (slice(None), *inner[1:])
    for _ in range(3):
        before = expected.copy()
        if borders == "neumann":
            before = np.pad(before[inner], radius, "symmetric")
        expected = before.copy()
        expected[inner] = 0.5 * (before[: -2 * radius] + before[2 * radius :])[across]
    if borders == "neumann":
        expected = np.pad(expected[inner], radius, "symmetric")

    kernel = wavefront.RowKernel(far, radius=radius, reads="previous")
    wavefront.run([u], kernel, 3, borders=borders, memory="128MiB")

    np.testing.assert_array_equal(u, expected)


def test_a_run_over_planes_notes_the_borders_of_its_six_sides(tmp_path: Path) -> None:
    program("create", tmp_path / "s", "--shape", "24,10,12", "--kernel", "sor-3d",
            "--strip-rows", 4)  # fmt: skip

    program("run", tmp_path / "s", "--iterations", 6, "--borders", "neumann,lines=periodic")

    found = json.loads(program("info", tmp_path / "s", "--json"))
    assert found["run"]["borders"] == (
        "top=neumann,bottom=neumann,left=neumann,right=neumann,front=periodic,back=periodic"
    )


def test_a_kernel_of_ones_own_gets_whole_planes() -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")
    lines, columns = SIDES[1:]

    @numba.cfunc(wavefront.row_signature("float64"))
    def seven(
        updated: Any, data: Any, coefficients: Any, _row: Any, _first: Any, _end: Any, _more: Any
    ) -> None:
        out, above, here, below, f = updated[0], data[0], data[1], data[2], coefficients[0]
        for j in range(1, lines - 1):
            for at in range(j * columns + 1, (j + 1) * columns - 1):
                before = (above[at] + here[at - columns]) + here[at - 1]
                after = (here[at + 1] + here[at + columns]) + below[at]
                out[at] = (1 - 1.5) * here[at] + 1.5 / 6 * ((before + after) - f[at])

    found, expected = U.copy(), U.copy()

    wavefront.run([found, F], seven, 5)

    for _ in range(5):
        sor(expected, F)
    np.testing.assert_array_equal(found, expected)


def test_a_kernel_of_planes_goes_in_all_directions_and_knows_its_iteration() -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")

    @numba.cfunc(wavefront.plane_signature("float64"))
    def seven(updated: Any, data: Any, coefficients: Any, plane: Any, context: Any) -> None:
        out, above, here, below, f = updated[0], data[0], data[1], data[2], coefficients[0]
        at = numba.carray(plane, 1)[0]
        omega = numba.carray(context, 12, np.float64)[at.iteration] + 0.01 * at.plane
        for m in range(1, at.lines - 1):
            line = at.columns * (m if at.back > 0 else at.lines - 1 - m)
            for n in range(1, at.columns - 1):
                k = line + (n if at.right > 0 else at.columns - 1 - n)
                before = (above[k] + here[k - at.columns]) + here[k - 1]
                after = (here[k + 1] + here[k + at.columns]) + below[k]
                out[k] = (1 - omega) * here[k] + omega / 6 * ((before + after) - f[k])

    weights = np.linspace(1.0, 1.5, 12)
    found, expected = U.copy(), U.copy()

    kernel = wavefront.PlaneKernel(seven, context=weights)
    wavefront.run([found, F], kernel, 12, directions="fast-sweeping-3d")

    by_plane = 0.01 * np.arange(SIDES[0])
    for iteration in range(12):
        sor(expected, F, CORNERS[iteration % 8], weights[iteration] + by_plane)
    np.testing.assert_array_equal(found, expected)


def test_a_kernel_of_rows_is_told_down_and_right_only_in_planes() -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")

    @numba.cfunc(wavefront.row_signature("float64", directed=True))
    def nothing(_u: Any, _d: Any, _c: Any, _row: Any, _first: Any, _end: Any, _iteration: Any,
                _down: Any, _right: Any, _context: Any) -> None:  # fmt: skip
        pass

    with pytest.raises(RequestError, match="give it update_plane"):
        wavefront.run([U.copy(), F], nothing, 2, directions="down-back-right")


def test_a_kernel_of_planes_is_refused_in_two_dimensions() -> None:
    numba = pytest.importorskip("numba", reason="install numba for kernels in Python")

    @numba.cfunc(wavefront.plane_signature("float64"))
    def nothing(_u: Any, _d: Any, _c: Any, _plane: Any, _context: Any) -> None:
        pass

    with pytest.raises(RequestError, match="two dimensions; give the kernel a function of rows"):
        wavefront.run([U[0].copy(), F[0]], nothing, 2)


def test_the_command_takes_and_gives_arrays_of_three_dimensions(tmp_path: Path) -> None:
    store = tmp_path / "store"
    np.save(tmp_path / "u.npy", U)
    np.save(tmp_path / "f.npy", F)
    program("create", store, "--shape", "11,7,9", "--name", "u", "--name", "f", "--empty")
    program("import", store, "u", tmp_path / "u.npy")
    program("import", store, "f", tmp_path / "f.npy")

    program("run", store, "--kernel", "sor-3d", "--iterations", 6, "--waves", 4)
    program("export", store, "u", tmp_path / "out.npy")

    expected = U.copy()
    for _ in range(6):
        sor(expected, F)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    assert "11 x 7 x 9 f64, row-major" in program("info", store)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--shape", "11,7,0"), "not a number from 1"),
        (("--shape", "11,,7"), "not a number from 1"),
        (("--shape", "11,7,"), "not a number from 1"),
        (("--shape", "11"), "1 side"),
        (("--shape", "2,2,2,2"), "4 sides"),
        (("--shape", "4,4,4", "--rows", "4"), "leave out --rows"),
        (("--shape", "8,8,8", "--layout", "skewed"), "not skewed"),
        (("--shape", "1099511627776,1099511627776,2"), "at most 2^40"),
    ],
)
def test_shapes_that_cannot_be_are_refused_in_one_line(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    line = [str(find_program("lanewise-wavefront", os.environ)), "create", str(tmp_path / "s")]

    done = subprocess.run([*line, *words], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_run_that_is_killed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    words = ("--iterations", 40, "--waves", 1, "--directions", "fast-sweeping-3d")
    shape = ("--shape", "64,48,56", "--kernel", "sor-3d")
    program("create", whole, *shape)
    program("run", whole, *words)
    line = [str(find_program("lanewise-wavefront", os.environ)), "run", str(killed)]

    for _ in range(20):
        program("create", killed, *shape)
        with started([*line, *map(str, words)], stdout=subprocess.DEVNULL) as running:
            while iterations(killed) < 3 and running.poll() is None:
                time.sleep(0.001)
            running.kill()
            running.wait()
        if iterations(killed) < 40:
            break
        shutil.rmtree(killed)  # it was quicker than this process

    assert 3 <= iterations(killed) < 40
    program("resume", killed)
    assert iterations(killed) == 40
    assert sums(killed) == sums(whole)


def test_parts_on_ranks_get_the_same_bits(tmp_path: Path) -> None:
    try:
        ranked = str(build_of("openmpi", os.environ).program("lanewise-wavefront-ranks"))
    except RequestError as error:
        pytest.skip(str(error))
    whole, joined = tmp_path / "whole", tmp_path / "joined"
    parts = [tmp_path / "part.0", tmp_path / "part.1"]
    program("create", whole, "--shape", "24,10,12", "--kernel", "sor-3d", "--strip-rows", 2)
    program("split", whole, *parts)
    program("run", whole, "--iterations", 12)

    line = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "2", ranked,
            str(tmp_path / "part.%r"), "--iterations", "12", "--waves", "4"]  # fmt: skip
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(line, env={**os.environ, **allowed}, capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip

    assert done.returncode == 0, done.stderr
    program("join", joined, *parts)
    assert sums(joined) == sums(whole)


def manifest(store: Path) -> Any:
    return json.loads((store / "manifest.json").read_text())


def iterations(store: Path) -> int:
    return int(manifest(store)["iterations"])


def sums(store: Path) -> str:
    """Return the checksum of the data's checksums: equal for equal bits."""
    return str(manifest(store)["matrices"][0]["sums"])
