# SPDX-License-Identifier: BSD-3-Clause
"""A store of `lanewise.wavefront` is read like an array, in every layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

pytestmark = pytest.mark.usefixtures("sweeps_built")

ROWS, COLUMNS, STRIP_ROWS = 61, 37, 8
U, F = np.random.default_rng(3).random((2, ROWS, COLUMNS))


def made(folder: Path, layout: str = "row-major", tile_columns: int = 0) -> wavefront.Store:
    store = wavefront.Store.create(
        folder, ROWS, COLUMNS, coefficients=1, layout=layout, strip_rows=STRIP_ROWS,
        tile_columns=tile_columns,
    )  # fmt: skip
    store.write("data0", U)
    store.write(1, F)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[wavefront.Store]:
    with made(tmp_path / "store") as opened:
        yield opened


@pytest.mark.parametrize(
    ("layout", "tile_columns"),
    [("row-major", 0), ("skewed", 0), ("block", 0), ("frontier", 0), ("row-major", 16)],
)
def test_every_range_of_rows_is_that_of_the_array(
    tmp_path: Path, layout: str, tile_columns: int
) -> None:
    with made(tmp_path / "store", layout, tile_columns) as store:
        for first in range(ROWS):
            for end in (first, first + 1, first + STRIP_ROWS, ROWS):
                np.testing.assert_array_equal(store[first:end], U[first:end])


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(50, 10, -3),
        slice(-5, None),
        slice(7, 7),
        slice(3, 40, 5),
        3,
        -1,
        np.int64(60),
        ...,
        (),
        (5, 6),
        (slice(2, 30), slice(None, None, 2)),
        (slice(8, 16), [1, 5, 5]),
        (-2, ...),
        (..., 4),
        (slice(4, 8), None),
        (3, ..., 4),
        (slice(None), ..., [1, 2]),
        (..., None),
        (None, 3),
        (None, slice(2, 9), None, 1),
    ],
    ids=str,
)
def test_rows_and_columns_are_picked_as_of_an_array(store: wavefront.Store, key: object) -> None:
    found, expected = store["coefficient0"][key], F[key]  # type: ignore[index]

    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


PLANES = np.random.default_rng(4).random((6, 5, 4))


@pytest.fixture
def planes() -> Iterator[wavefront.Store]:
    with wavefront.Store.in_memory(PLANES.shape) as opened:
        opened.write(0, PLANES)
        yield opened


def some_index(random: np.random.Generator, side: int) -> object:
    """Return an index that any axis but the first may have."""
    kinds = (
        int(random.integers(-side, side)),
        slice(*sorted(random.integers(0, side + 1, 2).tolist()), 2),
        random.integers(0, side, 2).tolist(),
        random.random(side) < 0.5,
        slice(None),
    )
    return kinds[random.integers(len(kinds))]


@pytest.mark.parametrize("seed", range(200))
def test_planes_lines_and_columns_are_picked_as_of_an_array(
    planes: wavefront.Store, seed: int
) -> None:
    random = np.random.default_rng(seed)
    first = (int(random.integers(6)), slice(int(random.integers(6)), None), slice(None, None, -2))
    key = [first[random.integers(3)], some_index(random, 5), some_index(random, 4)]
    del key[1 + random.integers(3) :]
    for extra in (Ellipsis, None):
        if random.random() < 0.5:
            key.insert(int(random.integers(len(key) + 1)), extra)
    if key[0] is Ellipsis:
        key = [Ellipsis, *(some_index(random, side) for side in (5, 4)[random.integers(3) :])]
    try:
        expected = PLANES[tuple(key)]
    except IndexError:
        with pytest.raises(IndexError):
            planes[tuple(key)]
        return

    np.testing.assert_array_equal(planes[tuple(key)], expected)


def test_a_mask_of_lines_and_columns_picks_as_of_an_array(planes: wavefront.Store) -> None:
    mask = PLANES[0] > 0.5

    np.testing.assert_array_equal(planes[:, mask], PLANES[:, mask])
    np.testing.assert_array_equal(planes[..., mask], PLANES[..., mask])


def test_numpy_takes_a_store_and_a_matrix_for_an_array(store: wavefront.Store) -> None:
    assert (store.shape, store.dtype, store.ndim, len(store)) == (U.shape, U.dtype, 2, ROWS)
    np.testing.assert_array_equal(np.asarray(store), U)
    np.testing.assert_array_equal(np.asarray(store["coefficient0"]), F)
    assert np.asarray(store, "float32").dtype == np.float32
    np.testing.assert_array_equal(np.stack(list(store.matrix(1))), F)
    assert np.max(store.matrix(1)) == F.max()


def test_a_matrix_of_one_store_is_written_to_another(
    store: wavefront.Store, tmp_path: Path
) -> None:
    with wavefront.Store.create(tmp_path / "copy", ROWS, COLUMNS) as copy:
        copy.write("data0", store["coefficient0"])

        np.testing.assert_array_equal(copy, F)


REFUSED = {
    "a row too far": (ROWS, IndexError, f"row {ROWS} is not in the matrix; it has {ROWS}"),
    "a row too far back": (-ROWS - 1, IndexError, "is not in the matrix"),
    "a list of rows": ([1, 2], RequestError, "by a number or a slice, not by list"),
    "a mask": (True, RequestError, "not by bool"),
    "rows by half": (1.5, RequestError, "not by float"),
    "three dimensions": ((1, 2, 3), IndexError, "3 indices for the two dimensions"),
    "two ellipses": ((..., 1, ...), IndexError, "a single ellipsis"),
    "a name": ("f", RequestError, 'no matrix "f"; there are data0, coefficient0'),
}


@pytest.mark.parametrize(("key", "error", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_picked_is_refused(
    store: wavefront.Store, key: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        store[key]


def test_a_matrix_and_rows_that_there_are_not_are_refused(store: wavefront.Store) -> None:
    with pytest.raises(RequestError, match="there is no matrix 2; there are 2, from 0 on"):
        store.matrix(2)
    with pytest.raises(RequestError, match="3 rows from row 60 on are not in a matrix of 61"):
        store.read_rows(0, 60, 3)
    with pytest.raises(RequestError, match="-1 rows from row 9 on are not in a matrix of 61"):
        store.read_rows(0, 9, -1)
    with pytest.raises(ValueError, match="without being copied"):
        np.asarray(store, copy=False)


def test_an_empty_matrix_says_so(tmp_path: Path) -> None:
    with (
        wavefront.Store.create(tmp_path / "empty", 8, 8) as store,
        pytest.raises(RequestError, match="matrix data0 is empty; fill it"),
    ):
        store[0]


def test_only_strips_that_hold_the_rows_are_read(store: wavefront.Store, tmp_path: Path) -> None:
    with (tmp_path / "store" / "data0.a.0").open("r+b") as file:
        file.seek(4 * 4096 + 8)  # strip 4 of one block each
        file.write(b"flipped")

    np.testing.assert_array_equal(store[:32], U[:32])
    np.testing.assert_array_equal(store[40:], U[40:])
    with pytest.raises(RunError, match=r"strip 4 \(rows from 32\) of data0"):
        store[39]


def test_a_matrix_of_a_store_is_a_coefficient_of_arrays(store: wavefront.Store) -> None:
    of_store, of_array = U.copy(), U.copy()

    wavefront.run([of_store, store["coefficient0"]], "sor", 3, parameters=[1.5])
    wavefront.run([of_array, F], "sor", 3, parameters=[1.5])

    np.testing.assert_array_equal(of_store, of_array)
    with pytest.raises(RequestError, match="give the store by itself"):
        wavefront.run([store, F], "sor", 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 300 + ".npy", "File name too long"),
        ("x" * 300 + ".h5", "File name too long"),
        ("x" * 300 + ".zarr", "File name too long"),
        ("a\0b.h5", "its name contains a NUL character"),
        ("missing/x.npy", "make the folder .*missing first"),
        ("missing/x.zarr", "make the folder .*missing first"),
        ("x.h5:/", "name already exists"),
        ("u.nc:x", "netCDF has a dimension x there; name another"),
        ("u.nc:y", "netCDF has a dimension y there; name another"),
        ("u.nc:x/u", "netCDF has a dimension x there; name another"),
    ],
    ids=[
        "npy",
        "h5",
        "zarr",
        "nul",
        "folder",
        "folder of zarr",
        "dataset",
        "columns",
        "rows",
        "group",
    ],
)
def test_a_name_that_no_array_can_have_is_refused_and_leaves_nothing(
    store: wavefront.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = list(tmp_path.iterdir())

    with pytest.raises(RequestError, match=f"cannot be written: .*{says}"):
        wavefront.export_array(store, 0, name)

    assert list(tmp_path.iterdir()) == before


def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    store = made(tmp_path / "store")
    matrix = store.matrix(1)
    store.close()
    store.close()

    for act in (lambda: store.shape, lambda: matrix[0], lambda: store.write(0, U), store.verify):
        with pytest.raises(RequestError, match="the store is closed; open it again"):
            act()
