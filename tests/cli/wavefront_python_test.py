# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise.wavefront` in Python: stores, arrays, and kernels compiled by Numba."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError
from lanewise.wavefront import arrays
from lanewise.wavefront import library as native

Lanewise = Callable[..., "subprocess.CompletedProcess[str]"]

numba = pytest.importorskip("numba", reason="install numba for kernels in Python")

from lanewise.wavefront.half import float_of, half_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("sweeps_built")


def random_arrays(count: int, rows: int = 70, columns: int = 45) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    return [generator.random((rows, columns)) for _ in range(count)]


@numba.cfunc(wavefront.row_signature())
def relax(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
    out, above, here, below, source = updated[0], data[0], data[1], data[2], coefficients[0]
    for j in range(first, end):
        out[j] = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j] - source[j])


@numba.cfunc(wavefront.row_signature())
def sideways(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
    for j in range(first, end):
        updated[0][j] = 0.5 * (data[1][j - 1] + data[1][j + 1])


@numba.njit
def relax_loop(u, f, iterations):
    for _ in range(iterations):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i, j - 1] + u[i, j + 1] + u[i + 1, j] - f[i, j])


def test_a_numba_kernel_over_arrays_gives_the_bits_of_the_loop() -> None:
    u, f = random_arrays(2)
    expected = u.copy()
    relax_loop(expected, f, 11)

    outcome = wavefront.run([u, f], relax, iterations=11, memory="64MiB", threads=2)

    assert outcome.iterations == 11
    np.testing.assert_array_equal(u, expected)


def test_a_kernel_that_reads_the_iteration_before_is_jacobi() -> None:
    u, f = random_arrays(2)
    expected = u.copy()
    for _ in range(5):
        b = expected.copy()
        inner = b[:-2, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] - f[1:-1, 1:-1]
        expected[1:-1, 1:-1] = 0.25 * inner

    wavefront.run([u, f], wavefront.RowKernel(relax, reads="previous"), iterations=5)

    np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize("reads", ["updated", "previous"])
def test_a_numba_kernel_sweeps_long_rows_in_parallelograms_to_the_same_bits(
    tmp_path: Path, reads: str
) -> None:
    u, f = random_arrays(2, 24, 9000)
    kernel = wavefront.RowKernel(relax, reads=reads)

    def swept(name: str, memory: str, tile_columns: int) -> np.ndarray:
        with wavefront.Store.create(
            tmp_path / name, *u.shape, coefficients=1, strip_rows=6, tile_columns=tile_columns
        ) as store:
            store.write(0, u)
            store.write(1, f)
            wavefront.run(store, kernel, iterations=7, memory=memory, threads=2)
            return store.read(0)

    np.testing.assert_array_equal(swept("tiles", "15MiB", 512), swept("whole", "64MiB", 0))


@numba.cfunc(wavefront.row_signature(directed=True))
def weighted(  # noqa: PLR0917
    updated, data, coefficients, row, first, end, iteration, down, right, context
):
    out, above, here, below = updated[0], data[0], data[1], data[2]
    weight = numba.carray(context, 3, np.float64)[iteration % 3]
    for n in range(end - first):
        j = first + n if right > 0 else end - 1 - n
        out[j] = weight * (above[j] + here[j - 1] + here[j + 1] + below[j]) + row


@numba.njit
def weighted_loop(u, weights, up, left, iteration):
    rows, columns = u.shape
    for y in range(1, rows - 1):
        i = rows - 1 - y if up else y
        for x in range(1, columns - 1):
            j = columns - 1 - x if left else x
            around = u[i - 1, j] + u[i, j - 1] + u[i, j + 1] + u[i + 1, j]
            u[i, j] = weights[iteration % 3] * around + i


@pytest.mark.parametrize("tile_columns", [0, 16])
def test_a_kernel_is_told_iteration_direction_and_context(
    tmp_path: Path, tile_columns: int
) -> None:
    (u,) = random_arrays(1)
    weights = np.array([0.25, 0.2, 0.125])
    kernel = wavefront.RowKernel(weighted, context=weights)
    with wavefront.Store.create(tmp_path / "s", *u.shape, tile_columns=tile_columns) as store:
        store.write(0, u)

        wavefront.run(store, kernel, 7, memory="64MiB", directions=["symmetric", "down-left"])

        for k in range(7):
            weighted_loop(u, weights, k % 3 == 1, k % 3 > 0, k)
        np.testing.assert_array_equal(store.read(0), u)


def test_a_run_pauses_until_its_residual_is_small(tmp_path: Path) -> None:
    u, f = random_arrays(2)
    seen = []
    with wavefront.Store.create(tmp_path / "s", *u.shape, coefficients=1) as store:
        store.write(0, u)
        store.write(1, f)

        def paused(iterations: int, measured: float) -> None:
            seen.append((iterations, measured, store.read(0)))

        outcome = wavefront.run(
            store, relax, 4000, memory="64MiB", until="residual<1e-3*first", pause_every=50,
            on_pause=paused,
        )  # fmt: skip

    assert outcome.converged
    assert [iterations for iterations, _measured, _data in seen] == [
        50 * (k + 1) for k in range(len(seen))
    ]
    assert outcome.iterations == seen[-1][0] < 4000
    relax_loop(u, f, 50)
    np.testing.assert_array_equal(seen[0][2], u)
    assert all(before[1] > after[1] for before, after in itertools.pairwise(seen))


def test_what_a_pause_raises_ends_the_run_and_it_is_made_again(tmp_path: Path) -> None:
    def paused(iterations: int, measured: float) -> None:
        raise ValueError(f"at {iterations}, {measured}")

    with wavefront.Store.create(tmp_path / "s", 20, 20) as store:
        store.write(0, random_arrays(1, 20, 20)[0])
        with pytest.raises(ValueError, match="at 2, nan"):
            wavefront.run(
                store, sideways, 6, memory="64MiB", pause_every=2, on_pause=paused
            )  # fmt: skip
        assert store.iterations == 2
        seen: list[int] = []
        wavefront.resume(
            store, sideways, memory="64MiB", on_pause=lambda done, _measured: seen.append(done)
        )
    assert seen == [2, 4, 6]


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.write(0, np.zeros((20, 20))),
        lambda store: wavefront.run(store, sideways, 2, memory="64MiB"),
        lambda store: wavefront.resume(store, sideways, memory="64MiB"),
        lambda store: store.close(),
    ],
    ids=["write", "run", "resume", "close"],
)
@pytest.mark.parametrize("called", ["on_pause", "on_progress"])
def test_what_a_run_calls_may_only_read_its_store(
    tmp_path: Path, act: Callable[[wavefront.Store], object], called: str
) -> None:
    (values,) = random_arrays(1, 20, 20)
    with wavefront.Store.create(tmp_path / "s", 20, 20) as store:
        store.write(0, values)
        with pytest.raises(RequestError, match="a run of the store or a write to it is under way"):
            wavefront.run(
                store, sideways, 6, memory="64MiB", pause_every=2,
                **{called: lambda _done, _measured: act(store)},
            )  # fmt: skip

        wavefront.resume(store, sideways, memory="64MiB")
        swept = store.read(0)
        store.write(0, values)
        wavefront.run(store, sideways, 6, memory="64MiB")
        np.testing.assert_array_equal(store.read(0), swept)


def test_a_kernel_that_is_not_told_the_direction_goes_one_way() -> None:
    with pytest.raises(RequestError, match="down and right only"):
        wavefront.run(random_arrays(2), relax, 2, memory="64MiB", directions="symmetric")


def test_a_run_of_ones_own_kernel_goes_on_with_that_kernel(tmp_path: Path) -> None:
    u, f = random_arrays(2)
    f[30, 20] = np.nan
    with wavefront.Store.create(tmp_path / "s", *u.shape, coefficients=1) as store:
        store.write(0, u)
        store.write(1, f)
        with pytest.raises(RunError, match="is not finite at row"):
            wavefront.run(store, relax, iterations=7, check_finite=True)

        with pytest.raises(RequestError, match="relax"):
            wavefront.resume(store)
        outcome = wavefront.resume(store, relax)

        relax_loop(u, f, 7)
        assert outcome.iterations == 7
        np.testing.assert_array_equal(store.read(0), u)


def test_progress_ends_at_one(tmp_path: Path) -> None:
    shares: list[float] = []
    with wavefront.Store.create(tmp_path / "s", 40, 30, coefficients=1) as store:
        for matrix, values in enumerate(random_arrays(2, 40, 30)):
            store.write(matrix, values)

        wavefront.run(store, "sor", 6, on_progress=lambda share, _s: shares.append(share))

        assert store.iterations == 6
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    "flag", ["fast", "nsz", "nnan", "ninf", "arcp", "contract", "afn", "reassoc"]
)
def test_a_fastmath_kernel_is_refused(flag: str) -> None:
    loose = numba.cfunc(wavefront.row_signature(), fastmath={flag})(relax._pyfunc)

    with pytest.raises(RequestError, match="fastmath"):
        wavefront.run(random_arrays(2), loose, iterations=1)


def test_a_kernel_reads_one_of_two_iterations() -> None:
    for kind in (wavefront.RowKernel, wavefront.PlaneKernel):
        with pytest.raises(RequestError, match='reads "updated" or "previous", not "Previous"'):
            kind(relax, reads="Previous")


@pytest.mark.parametrize("found", ["float64", "float16", "complex64"])
def test_a_kernel_for_other_elements_is_refused(tmp_path: Path, found: str) -> None:
    @numba.cfunc(wavefront.row_signature(found))
    def stay(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        pass

    says = rf'stay is for {found}, but the data are float32.* row_signature\("float32"\)'
    (values,) = random_arrays(1)

    with pytest.raises(RequestError, match=says):
        wavefront.run(values.astype("float32"), stay, 3)
    with pytest.raises(RequestError, match=says):
        wavefront.plan((70, 45), wavefront.RowKernel(stay), 3, dtype="float32")
    with (
        wavefront.Store.create(tmp_path / "s", 70, 45, dtype="float32") as store,
        pytest.raises(RequestError, match=says),
    ):
        wavefront.resume(store, stay)
    wavefront.run(values.astype(found), stay, 3)


def test_coefficients_of_a_kernel_have_the_type_of_the_data() -> None:
    types = numba.types
    rows, others = (types.CPointer(types.CPointer(t)) for t in (types.float64, types.int64))
    index = types.int64
    mixed = types.void(rows, rows, others, index, index, index, types.voidptr)

    @numba.cfunc(mixed)
    def stay(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        pass

    with pytest.raises(RequestError, match="stay is for int64, but the data are float64"):
        wavefront.run(random_arrays(2), stay, 3)


def test_a_plane_kernel_for_other_elements_is_refused() -> None:
    @numba.cfunc(wavefront.plane_signature("float64"))
    def stay(updated, data, coefficients, plane, context):
        pass

    with pytest.raises(RequestError, match=r'float64, .* float32.* plane_signature\("float32"\)'):
        wavefront.run(np.zeros((9, 9, 9), "float32"), stay, 3)


@pytest.mark.parametrize(("borders", "padding"), [("periodic", "wrap"), ("neumann", "symmetric")])
def test_borders_are_those_that_numpy_pads(borders: str, padding: str) -> None:
    u, f = random_arrays(2)
    inner = u[1:-1, 1:-1].copy()
    for _ in range(5):
        b = np.pad(inner, 1, padding)
        inner = 0.25 * (b[:-2, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] - f[1:-1, 1:-1])

    jacobi = wavefront.RowKernel(relax, reads="previous")
    wavefront.run([u, f], jacobi, iterations=5, borders=borders)

    np.testing.assert_array_equal(u, np.pad(inner, 1, padding))


def test_borders_may_differ_from_side_to_side(tmp_path: Path) -> None:
    u, f = random_arrays(2)
    before = u.copy()

    wavefront.run([u, f], "sor", iterations=3, borders={"left": "neumann", "top": "neumann"})

    np.testing.assert_array_equal(u[:-1, 0], u[:-1, 1])
    np.testing.assert_array_equal(u[0], u[1])
    np.testing.assert_array_equal(u[-1], before[-1])
    np.testing.assert_array_equal(u[1:, -1], before[1:, -1])


def test_a_kernel_that_writes_outside_its_columns_is_caught() -> None:
    @numba.cfunc(wavefront.row_signature())
    def reckless(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        updated[0][0] = 1.0

    u = random_arrays(1)
    with pytest.raises(RunError, match="outside its columns"):
        wavefront.run(u, wavefront.RowKernel(reckless, watch_writes=True), iterations=1)


def subsequences(u: np.ndarray, equal: np.ndarray) -> None:
    """Fill the table of the longest common subsequences, as two plain loops do."""
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = max(u[i - 1, j], u[i, j - 1], u[i - 1, j - 1] + equal[i, j])


@pytest.mark.parametrize("element", ["int32", "int64"])
def test_whole_numbers_go_from_files_through_a_kernel_and_back(
    lanewise: Lanewise, tmp_path: Path, element: str
) -> None:
    @numba.cfunc(wavefront.row_signature(element))
    def longest(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        out, above, equal = updated[0], data[0], coefficients[0]
        for j in range(first, end):
            out[j] = max(above[j], out[j - 1], above[j - 1] + equal[j])

    generator = np.random.default_rng(3)
    start = generator.integers(2**31 - 300, 2**31 - 200, (70, 45)).astype(element)
    equal = generator.integers(0, 2, (70, 45)).astype(element)
    np.save(tmp_path / "start.npy", start)
    np.save(tmp_path / "equal.npy", equal)
    kind = {"int32": "i32", "int64": "i64"}[element]
    shape = ("--shape", "70,45", "--element", kind, "--coefficients", 1, "--empty")
    for words in (
        ("create", "s", *shape),
        ("import", "s", "data", "start.npy"),
        ("import", "s", "coefficient0", "equal.npy"),
    ):
        done = lanewise("wavefront", *words)
        assert done.returncode == 0, done.stderr

    wavefront.run(tmp_path / "s", longest, 2, memory="64MiB", threads=2)

    done = lanewise("wavefront", "export", "s", "data", "result.npy")
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "result.npy")
    for _ in range(2):
        subsequences(start, equal)
    assert found.dtype == element
    np.testing.assert_array_equal(found, start)
    with wavefront.Store.open(tmp_path / "s") as store:
        assert store.dtype == element
        np.testing.assert_array_equal(store[3:9, 7], start[3:9, 7])


def test_a_kernel_computes_with_halves_as_float32() -> None:
    @numba.cfunc(wavefront.row_signature("float16"))
    def mean(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        out, above, here, below = updated[0], data[0], data[1], data[2]
        for j in range(first, end):
            total = float_of(above[j]) + float_of(here[j - 1]) + float_of(here[j + 1])
            out[j] = half_of(np.float32(0.25) * (total + float_of(below[j])))

    u = random_arrays(1)[0].astype("float16")
    expected = u.copy()
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                around = (expected[i - 1, j], expected[i, j - 1], expected[i, j + 1])
                a, b, c = (np.float32(one) for one in around)
                d = np.float32(expected[i + 1, j])
                expected[i, j] = np.float32(0.25) * (((a + b) + c) + d)

    wavefront.run([u], mean, iterations=3, memory="64MiB", threads=2)

    np.testing.assert_array_equal(u.view("uint16"), expected.view("uint16"))


def test_halves_are_converted_as_numpy_does() -> None:
    @numba.njit
    def floats_of(bits):
        return np.array([float_of(one) for one in bits])

    @numba.njit
    def halves_of(values):
        return np.array([half_of(one) for one in values])

    every = np.arange(2**16, dtype=np.uint16)
    as_float = every.view(np.float16).astype(np.float32)
    between = np.random.default_rng(1).integers(0, 2**32, 100000, np.uint32).view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        halfway = (as_float[1:] + as_float[:-1]) / 2
        below = np.nextafter(halfway, np.float32(0))
        near = np.concatenate([as_float, halfway, below, between])
        expected = near.astype(np.float16)

    np.testing.assert_array_equal(floats_of(every), as_float)
    np.testing.assert_array_equal(halves_of(near).view(np.float16), expected)


def test_a_built_in_kernel_sweeps_halves_to_the_bits_of_float32_that_is_rounded() -> None:
    u, f = (array.astype("float16") for array in random_arrays(2, 40, 30))
    expected = u.astype("float32")
    for _ in range(4):
        b = expected.copy()
        inner = ((b[:-2, 1:-1] + b[1:-1, :-2]) + b[1:-1, 2:]) + b[2:, 1:-1]
        inner = np.float32(0.25) * (inner - f[1:-1, 1:-1].astype("float32"))
        expected[1:-1, 1:-1] = inner.astype("float16").astype("float32")

    wavefront.run([u, f], "jacobi", iterations=4, memory="64MiB")

    np.testing.assert_array_equal(u, expected.astype("float16"))


@numba.cfunc(wavefront.row_signature(directed=True))
def outer(  # noqa: PLR0917
    updated, data, coefficients, row, first, end, iteration, down, right, context
):
    source, by_row, by_column = coefficients[0], coefficients[1][0], coefficients[2]
    out, above, here, below = updated[0], data[0], data[1], data[2]
    for n in range(end - first):
        j = first + n if right > 0 else end - 1 - n
        mean = 0.25 * (above[j] + here[j - 1] + here[j + 1] + below[j])
        out[j] = mean * by_row + by_column[j] - source[j]


@numba.njit
def outer_loop(u, source, by_row, by_column, up=False, left=False):  # noqa: FBT002, PLR0917
    rows, columns = u.shape
    for y in range(1, rows - 1):
        i = rows - 1 - y if up else y
        for x in range(1, columns - 1):
            j = columns - 1 - x if left else x
            mean = 0.25 * (u[i - 1, j] + u[i, j - 1] + u[i, j + 1] + u[i + 1, j])
            u[i, j] = mean * by_row[i, 0] + by_column[0, j] - source[i, j]


@pytest.mark.parametrize("tile_columns", [0, 16])
@pytest.mark.parametrize("layout", ["row-major", "block"])
def test_coefficients_may_be_one_value_for_each_row_or_column(
    tmp_path: Path, layout: str, tile_columns: int
) -> None:
    u, source = random_arrays(2)
    by_row, by_column = u[:, :1].copy(), u[3:4] / 4
    with wavefront.Store.create(
        tmp_path / "s", u.shape, coefficients=1, row_coefficients=1, column_coefficients=1,
        layout=layout, tile_columns=tile_columns, strip_rows=12,
    ) as store:  # fmt: skip
        values = {"data0": u, "coefficient0": source, "row0": by_row, "column0": by_column}
        for name, array in values.items():
            store.write(name, array)
        kernel = wavefront.RowKernel(outer, watch_writes=True)

        wavefront.run(store, kernel, 6, memory="64MiB", directions="fast-sweeping", threads=2)

        for k in range(6):
            outer_loop(u, source, by_row, by_column, k % 4 in {2, 3}, k % 4 in {1, 2})
        np.testing.assert_array_equal(store.read(0), u)
        np.testing.assert_array_equal(store.read("row0"), by_row)
        np.testing.assert_array_equal(store["column0"][0, 4:9], by_column[0, 4:9])
        assert store.shape_of("row0") == (70, 1)


def test_arrays_of_one_column_or_one_row_are_coefficients_by_row_and_column() -> None:
    u, source = random_arrays(2)
    by_row, by_column = source[:, :1].copy(), source[:1].copy()
    expected = u.copy()
    for _ in range(3):
        outer_loop(expected, source, by_row, by_column)

    wavefront.run([u, source, by_row, by_column], outer, 3, memory="64MiB")

    np.testing.assert_array_equal(u, expected)
    with pytest.raises(RequestError, match=r"those of \(rows, 1\)"):
        wavefront.run([u, by_row, source, by_column], outer, 3)
    with pytest.raises(RequestError, match=r"sor reads matrices only"):
        wavefront.run([u, source, by_row], "sor", 3)


def test_an_array_of_another_shape_is_refused(tmp_path: Path) -> None:
    with (
        wavefront.Store.create(tmp_path / "s", 8, 8) as store,
        pytest.raises(RequestError, match=r"an array of \(8, 9\) float32 is not the store's"),
    ):
        store.write(0, np.zeros((8, 9), "float32"))


def test_a_source_that_raises_leaves_the_matrix_as_it_was(tmp_path: Path) -> None:
    class Torn:
        shape, dtype = (64, 8), np.dtype("float64")

        def __getitem__(self, rows: slice) -> np.ndarray:
            raise OSError("torn tape")

    values = random_arrays(1, 64, 8)[0]
    with wavefront.Store.create(tmp_path / "s", 64, 8) as store:
        store.write(0, values)

        with pytest.raises(RunError, match="torn tape"):
            store.write(0, Torn())

        np.testing.assert_array_equal(store.read(0), values)


def filled(folder: Path, count: int = 2, side: int = 64) -> wavefront.Store:
    store = wavefront.Store.create(folder, side, side, coefficients=count - 1, strip_rows=8)
    for matrix, values in enumerate(random_arrays(count, side, side)):
        store.write(matrix, values)
    return store


def test_an_interrupt_while_rows_are_written_leaves_the_matrix_as_it_was(tmp_path: Path) -> None:
    class Interrupted:
        shape, dtype = (64, 64), np.dtype("float64")

        def __getitem__(self, rows: slice) -> np.ndarray:
            if rows.start == 24:
                raise KeyboardInterrupt
            return np.zeros((rows.stop - rows.start, 64))

    with filled(tmp_path / "s") as store:
        before = store.read(0)

        with pytest.raises(KeyboardInterrupt):
            store.write(0, Interrupted())

        np.testing.assert_array_equal(store.read(0), before)
        store.verify()


def test_a_kernel_that_raises_ends_the_run_and_commits_nothing(tmp_path: Path) -> None:
    @numba.cfunc(wavefront.row_signature())
    def divide(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        for j in range(first, end):
            updated[0][j] = data[1][j] + 1.0 / coefficients[0][j]

    with filled(tmp_path / "s") as store:
        divisors = np.ones((64, 64))
        divisors[62, 5] = 0.0
        store.write(1, divisors)
        before = store.read(0)

        with pytest.raises(RunError, match="divide raised ZeroDivisionError") as caught:
            wavefront.run(store, divide, 1, threads=2)

        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert store.iterations == 0
        np.testing.assert_array_equal(store.read(0), before)


def test_what_progress_raises_ends_the_run_and_reaches_the_caller(tmp_path: Path) -> None:
    class EnoughError(Exception):
        pass

    def stop(share: float, _elapsed_s: float) -> None:
        if share > 0.25:
            raise EnoughError

    with filled(tmp_path / "s") as store:
        with pytest.raises(EnoughError):
            wavefront.run(store, "sor", 4, waves=1, on_progress=stop)

        assert store.iterations == 1
        assert wavefront.resume(store).iterations == 3
        swept = store.read(0)

    with filled(tmp_path / "t") as whole:
        wavefront.run(whole, "sor", 4)
        np.testing.assert_array_equal(swept, whole.read(0))


@pytest.mark.parametrize("act", [wavefront.Store.verify, lambda store: store.read_rows(0, 0, 256)])
def test_an_interrupt_stops_reading_and_checking(
    act: Callable[[wavefront.Store], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, asked = native.loaded().lw_wavefront_stop, []

    def noted(handle: object) -> None:
        asked.append(handle)
        stop(handle)

    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(native.loaded(), "lw_wavefront_stop", noted)
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        with wavefront.Store.create(tmp_path / "s", 256, 4096) as store:
            store.write(0, np.ones((256, 4096)))
            for _ in range(100):
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with pytest.raises(KeyboardInterrupt):
                    while True:
                        act(store)
                if asked:
                    break
            assert asked
            store.verify()
    finally:
        signal.signal(signal.SIGALRM, former)


def test_an_interrupt_ends_a_run_within_a_pass(tmp_path: Path) -> None:
    program = f"""
import json, time
import numba, numpy as np
from lanewise import wavefront

@numba.cfunc(wavefront.row_signature())
def slow(updated, data, coefficients, row, first, end, context):
    for j in range(first, end):
        value = data[1][j]
        for _ in range(4000):
            value = 0.5 * value + 1.0
        updated[0][j] = value

store = wavefront.Store.create({str(tmp_path / "s")!r}, 512, 512)
store.write(0, np.ones((512, 512)))
began_s = time.monotonic()
wavefront.run(store, slow, 1, threads=1)
pass_s = time.monotonic() - began_s
print("begun", flush=True)
try:
    wavefront.run(store, slow, 10**6, waves=1, threads=1)
except KeyboardInterrupt:
    ended_s = time.monotonic()
    store.verify()
    print(json.dumps([pass_s, ended_s]))
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "begun\n"
    time.sleep(1.0)
    sent_s = time.monotonic()
    running.send_signal(signal.SIGINT)

    try:
        said, _ = running.communicate(timeout=60)
    finally:
        running.kill()

    assert running.returncode == 0
    pass_s, ended_s = json.loads(said)
    # A row takes a five-hundredth of a pass, and is all that the interrupt waits for.
    assert ended_s - sent_s < pass_s / 2


@pytest.mark.parametrize("kind", ["ndarray", "memmap"])
def test_an_interrupt_while_the_result_is_copied_is_raised_when_all_rows_are_new(
    tmp_path: Path, kind: str
) -> None:
    program = f"""
import sys
import numpy as np
from lanewise import wavefront

class Watched(np.{kind}):
    def __setitem__(self, rows, values):
        if isinstance(rows, slice) and rows.start == 2048:
            print("half", flush=True)
            sys.stdin.readline()
        super().__setitem__(rows, values)

values = np.random.default_rng(1).random((4096, 512))
expected = values.copy()
zeros = np.zeros_like(values)
wavefront.run([expected, zeros], "sor", 1, parameters=[1.5])
if {kind == "memmap"}:
    np.save({str(tmp_path / "u.npy")!r}, values)
    values = np.load({str(tmp_path / "u.npy")!r}, mmap_mode="r+")
try:
    wavefront.run([values.view(Watched), zeros], "sor", 1, parameters=[1.5])
except KeyboardInterrupt:
    print("interrupted,", np.sum((values != expected).any(axis=1)), "rows are old")
"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert running.stdout is not None
    assert running.stdout.readline() == "half\n"
    running.send_signal(signal.SIGINT)

    try:
        said, _ = running.communicate("go on\n", timeout=60)
    finally:
        running.kill()

    assert said == "interrupted, 0 rows are old\n"
    assert not list(temporary.iterdir())


def test_an_array_that_cannot_take_the_result_leaves_it_in_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(np.ndarray):
        def __setitem__(self, rows: slice, values: np.ndarray) -> None:
            if rows.start:
                raise OSError("no space left")
            super().__setitem__(rows, values)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    u = np.repeat(random_arrays(1)[0], 512, axis=1)
    expected = u.copy()
    wavefront.run([expected, 0 * u], "sor", 2)

    with pytest.raises(RunError, match="no space left; all of it is data0 of the store") as caught:
        wavefront.run([u.view(Full), 0 * u], "sor", 2)

    with wavefront.Store.open(str(caught.value).split()[-1]) as store:
        np.testing.assert_array_equal(store.read(0), expected)


def test_an_array_that_is_read_only_is_refused_before_the_run() -> None:
    (u,) = random_arrays(1)
    u.flags.writeable = False

    with pytest.raises(RequestError, match=r'is read-only; give a copy, or open .*"r\+"'):
        wavefront.run([u], "sor", 10**9)


@pytest.mark.parametrize("tolerance", [0.0, 1e-12])
def test_cells_that_stay_at_infinity_are_at_rest(tolerance: float) -> None:
    @numba.cfunc(wavefront.row_signature())
    def arrive(updated, data, coefficients, row, first, end, context):  # noqa: PLR0917
        above, here, below = data[0], data[1], data[2]
        for j in range(first, end):
            near = min(above[j], below[j], here[j - 1], here[j + 1])
            updated[0][j] = min(here[j], near + coefficients[0][j])

    times = np.full((40, 40), np.inf)
    times[20, 20] = 0.0
    cost = np.ones((40, 40))
    cost[10] = np.inf

    outcome = wavefront.run([times, cost], arrive, 500, tolerance=tolerance)

    assert outcome.converged
    assert outcome.iterations < 100
    assert outcome.last_change == 0.0
    assert np.isinf(times[5, 20])


@pytest.mark.parametrize(
    "name", ["values.h5", "values.h5:other", "values.zarr", "values.nc:u", "values.npy"]
)
def test_zarr_and_hdf5_go_in_and_come_out(tmp_path: Path, name: str) -> None:
    if not name.endswith(".npy"):
        pytest.importorskip("zarr" if "zarr" in name else "h5py")
    store, (values,) = tmp_path / "s", random_arrays(1, 64, 8)
    wavefront.Store.create(store, 64, 8).close()
    with wavefront.Store.open(store) as opened:
        opened.write(0, values)

    wavefront.export_array(store, "data0", tmp_path / name)
    wavefront.Store.create(tmp_path / "t", 64, 8).close()
    wavefront.import_array(tmp_path / "t", "data0", tmp_path / name)

    with wavefront.Store.open(tmp_path / "t") as opened:
        np.testing.assert_array_equal(opened.read(0), values)


def test_a_netcdf_file_names_its_dimensions_and_what_is_missing(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    name, (values,) = str(tmp_path / "u.nc:u"), random_arrays(1, 64, 8)
    array = arrays.create_array(name, values.shape, values.dtype, 16)
    array[...] = values
    array.file.close()

    with h5py.File(tmp_path / "u.nc", "r+") as file:
        assert [dimension[0].name for dimension in file["u"].dims] == ["/y", "/x"]
        file["u"].attrs["_FillValue"] = values[20:21, 3]

    with (
        wavefront.Store.create(tmp_path / "s", 64, 8) as store,
        pytest.raises(RunError, match=r"has missing values \(_FillValue 0\.\d+\) in rows"),
    ):
        store.write(0, arrays.open_array(name))


def test_a_store_stays_where_it_is_when_the_program_changes_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (values,) = random_arrays(1, 64, 8)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    with wavefront.Store.create("s", 64, 8) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.write(0, values)

        np.testing.assert_array_equal(store.read(0), values)
    with wavefront.Store.open(tmp_path / "s", "r") as store:
        np.testing.assert_array_equal(store.read(0), values)


def test_values_that_were_never_written_are_missing_in_netcdf_and_a_default_in_hdf5(
    tmp_path: Path,
) -> None:
    h5py = pytest.importorskip("h5py")
    never_written = np.float32(9.9692099683868690e36)  # NC_FILL_FLOAT
    values = np.full((64, 8), never_written)
    values[:60] = 1
    for name in ("u.nc", "u.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            array = file.create_dataset("u", values.shape, "f4", fillvalue=never_written)
            array[:60] = 1

    with wavefront.Store.create(tmp_path / "s", 64, 8, dtype="f4") as store:
        with pytest.raises(RunError, match=r"missing values \(_FillValue 9\.969\d*e\+36\) in rows"):
            store.write(0, arrays.open_array(str(tmp_path / "u.nc:u")))

        store.write(0, arrays.open_array(str(tmp_path / "u.h5:u")))
        np.testing.assert_array_equal(store.read(0), values)


def test_a_zarr_group_as_xarray_writes_it_is_imported(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    (values,) = random_arrays(1, 64, 8)
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("temperature", data=values)
    group.create_array("y", data=np.arange(64.0))  # coordinates lie beside the variable
    group.create_array("x", data=np.arange(8.0))
    wavefront.Store.create(tmp_path / "s", 64, 8).close()

    wavefront.import_array(tmp_path / "s", "data0", tmp_path / "g.zarr")

    with wavefront.Store.open(tmp_path / "s") as opened:
        np.testing.assert_array_equal(opened.read(0), values)
    group.create_array("salinity", data=values)
    with pytest.raises(RequestError, match=r"salinity, temperature; say which"):
        arrays.open_array(str(tmp_path / "g.zarr"))
    group["salinity"].attrs["scale_factor"] = 0.01
    with pytest.raises(RequestError, match="scale_factor"):
        arrays.open_array(str(tmp_path / "g.zarr:salinity"))


def test_each_chunk_of_an_array_is_read_once(tmp_path: Path) -> None:
    (values,) = random_arrays(1, 250, 40)

    class Chunked:
        shape, dtype, chunks = values.shape, values.dtype, (64, 20)
        reads = np.zeros(4, int)

        def __getitem__(self, rows: slice) -> np.ndarray:
            self.reads[rows.start // 64 : -(-rows.stop // 64)] += 1
            return values[rows]

    source = Chunked()
    with wavefront.Store.create(tmp_path / "s", 250, 40, strip_rows=8) as store:
        store.write(0, source)

        np.testing.assert_array_equal(store.read(0), values)
    assert source.reads.tolist() == [1, 1, 1, 1]
