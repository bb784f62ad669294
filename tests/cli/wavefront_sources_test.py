# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of dask and xarray go into a store and come out of it, and other types are converted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanewise import wavefront
from lanewise.errors import RequestError, RunError

pytestmark = pytest.mark.usefixtures("sweeps_built")

ROWS, COLUMNS = 250, 40
VALUES = np.random.default_rng(7).random((ROWS, COLUMNS))


def stored(folder: Path, values: Any, dtype: str = "float64", strip_rows: int = 8) -> np.ndarray:
    """Return what a store holds once `values` were written to it."""
    with wavefront.Store.create(
        folder / f"s{strip_rows}", values.shape, dtype=dtype, strip_rows=strip_rows
    ) as store:
        store.write(0, values)
        return store.read(0)


@pytest.mark.parametrize("strip_rows", [8, 16, 64, 256])
@pytest.mark.parametrize("heights", [(64, 64, 64, 58), (1, 7, 100, 30, 12, 100), (250,)])
def test_each_block_of_a_dask_array_is_computed_once(
    tmp_path: Path, heights: tuple[int, ...], strip_rows: int
) -> None:
    dask_array = pytest.importorskip("dask.array")
    computed: list[tuple[int, ...]] = []

    def counted(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        computed.append(block_info[0]["chunk-location"])
        return block + 1.0

    blocks = dask_array.from_array(VALUES, chunks=(heights, 20))
    lazy = blocks.map_blocks(counted, dtype="f8", meta=np.empty((0, 0)))

    np.testing.assert_array_equal(stored(tmp_path, lazy, strip_rows=strip_rows), VALUES + 1.0)

    assert sorted(computed) == [(i, j) for i in range(len(heights)) for j in range(2)]


def test_a_matrix_of_a_store_is_read_by_dask_in_blocks(tmp_path: Path) -> None:
    dask_array = pytest.importorskip("dask.array")
    with wavefront.Store.create(tmp_path / "s", VALUES.shape, strip_rows=16) as store:
        store.write(0, VALUES)
        assert store["data0"].chunks == (16, COLUMNS)

        lazy = dask_array.from_array(store["data0"], chunks=(32, COLUMNS))

        np.testing.assert_array_equal((lazy * 2).compute(), VALUES * 2)


def test_variables_of_xarray_go_in_and_come_out(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    dask_array = pytest.importorskip("dask.array")
    pytest.importorskip("zarr")
    data = xarray.Dataset({"u": (("y", "x"), VALUES), "t": (("y", "x"), VALUES.astype(">f4"))})
    data.to_zarr(tmp_path / "in.zarr", consolidated=False, encoding={"u": {"chunks": (64, 40)}})
    for chunks in (None, {"y": 64}):
        opened = xarray.open_zarr(tmp_path / "in.zarr", consolidated=False, chunks=chunks)
        name = f"s{chunks is None}"
        with wavefront.Store.create(tmp_path / name, VALUES.shape, coefficients=1) as store:
            store.write(0, opened["u"])
            store.write(1, opened["t"])
            np.testing.assert_array_equal(store, VALUES)
            np.testing.assert_array_equal(store["coefficient0"], VALUES.astype("f4"))

            lazy = dask_array.from_array(store["data0"])
            swept = xarray.DataArray(lazy, dims=opened["u"].dims, name="u")
            swept.to_zarr(tmp_path / f"{name}.zarr", consolidated=False)

        found = xarray.open_zarr(tmp_path / f"{name}.zarr", consolidated=False)["u"]
        np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("dtype", "encoding", "says"),
    [
        ("f8", {"_FillValue": -999.0}, "_FillValue -999.0"),
        ("f4", {"_FillValue": 1e20}, "_FillValue 1e[+]20"),
        ("c16", {"_FillValue": -9 - 8j}, "_FillValue .-9-8j"),
        ("f8", {"_FillValue": -7, "dtype": "i4"}, "_FillValue -7"),
        ("f8", {"missing_value": -5.0}, "missing_value -5.0"),
    ],
)
def test_what_xarray_writes_as_missing_is_not_imported(
    tmp_path: Path, zarr_format: int, dtype: str, encoding: dict[str, Any], says: str
) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    values = VALUES.astype(dtype)
    values[100, 3] = np.nan
    data = xarray.Dataset({"t": (("y", "x"), values)})
    data.to_zarr(
        tmp_path / "t.zarr", zarr_format=zarr_format, consolidated=False, encoding={"t": encoding}
    )

    with (
        wavefront.Store.create(tmp_path / "s", VALUES.shape, dtype=values.dtype) as store,
        pytest.raises(RunError, match=rf"has missing values \({says}.*\) in rows 0 to 249"),
    ):
        wavefront.import_array(store, 0, tmp_path / "t.zarr")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zeros_are_not_missing_where_zarr_fills_with_them(tmp_path: Path, zarr_format: int) -> None:
    zarr = pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    plain = zarr.create_array(
        tmp_path / "u.zarr", data=np.zeros((6, 5)), zarr_format=zarr_format, fill_value=0.0
    )
    plain.attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    other = zarr.create_array(
        tmp_path / "v.zarr", data=np.ones((6, 5)), zarr_format=zarr_format, fill_value=1.0
    )
    xarray.Dataset({"t": (("y", "x"), other[:])}).to_zarr(
        tmp_path / "w.zarr", zarr_format=zarr_format, consolidated=False
    )

    with wavefront.Store.create(tmp_path / "s", 6, 5) as store:
        for name, value in (("u", 0.0), ("v", 1.0), ("w", 1.0)):
            wavefront.import_array(store, 0, tmp_path / f"{name}.zarr")
            np.testing.assert_array_equal(store, np.full((6, 5), value))


def test_values_that_are_masked_are_not_written(tmp_path: Path) -> None:
    masked = np.ma.masked_array(VALUES, mask=False)
    np.testing.assert_array_equal(stored(tmp_path, masked, strip_rows=16), VALUES)
    masked[100, 3] = np.ma.masked

    with pytest.raises(RunError, match="rows 96 to 103 have masked values; put numbers in their"):
        stored(tmp_path, masked)
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(RunError, match="have masked values"):
        stored(tmp_path, dask_array.from_array(masked, chunks=(50, 40)), strip_rows=64)


def test_a_variable_of_xarray_is_swept_in_place() -> None:
    xarray = pytest.importorskip("xarray")
    u = xarray.DataArray(VALUES.copy(), dims=("y", "x"))
    f = xarray.DataArray(VALUES.astype(">f8"), dims=("y", "x")).chunk({"y": 100})
    expected = VALUES.copy()

    wavefront.run([expected, VALUES], "sor", 3)
    wavefront.run([u, f], "sor", 3)

    np.testing.assert_array_equal(u, expected)


def test_a_lazy_array_is_not_swept_in_place() -> None:
    dask_array = pytest.importorskip("dask.array")
    lazy = dask_array.from_array(VALUES, chunks=100)

    with pytest.raises(RequestError, match="which a lazy array is not; write it to a store"):
        wavefront.run([lazy, VALUES], "sor", 3)


@pytest.mark.parametrize(
    ("found", "held"),
    [
        (">f8", "float64"),
        (">f4", "float32"),
        ("<f4", "float64"),
        (">f8", "float32"),
        ("f8", "float16"),
        ("i2", "float32"),
        (">i4", "int64"),
        ("u8", "int32"),
        (">c16", "complex64"),
        ("f4", "complex128"),
        ("?", "float32"),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_bytes_widths_and_orders_are_converted_as_numpy_does(
    tmp_path: Path, found: str, held: str, order: str
) -> None:
    values = np.asarray(VALUES * 100, order=order).astype(found)  # type: ignore[call-overload]

    stored_values = stored(tmp_path, values, held)

    assert stored_values.dtype == held
    np.testing.assert_array_equal(stored_values, values.astype(held))


def test_an_array_in_other_bytes_and_order_is_swept_in_place() -> None:
    u = np.asfortranarray(VALUES.astype(">f8"))
    f = VALUES.astype("f4")
    expected = VALUES.copy()
    wavefront.run([expected, f.astype("f8")], "sor", 3)

    wavefront.run([u, f], "sor", 3)

    assert u.dtype == ">f8"
    np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize(("found", "held"), [("c16", "f8"), ("f8", "i8"), ("M8[s]", "f8")])
def test_what_would_lose_more_than_digits_is_refused(tmp_path: Path, found: str, held: str) -> None:
    values = np.zeros((ROWS, COLUMNS), found)

    with pytest.raises(RequestError, match=r"is not converted to the store's .* \.astype\("):
        stored(tmp_path, values, np.dtype(held).name)


@pytest.mark.parametrize(
    ("value", "found", "held"),
    [
        (1e300, "f8", "float32"),
        (1e5, "f4", "float16"),
        (2**31, "i8", "int32"),
        (-(2**31) - 1, "i8", "int32"),
        (2**63, "u8", "int64"),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_its_rows(
    tmp_path: Path, value: float, found: str, held: str
) -> None:
    values = np.zeros((ROWS, COLUMNS), found)
    values[100, 3] = value

    with pytest.raises(RunError, match=rf"in rows 96 to 103 is out of the range of {held}"):
        stored(tmp_path, values, held)


def test_infinities_and_not_a_number_stay_what_they_are(tmp_path: Path) -> None:
    values = VALUES.copy()
    values[3, 4:7] = np.inf, -np.inf, np.nan

    np.testing.assert_array_equal(stored(tmp_path, values, "float16"), values.astype("f2"))


def test_a_mapped_file_in_fortran_order_is_read_in_bands(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.asfortranarray(VALUES))
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")

    np.testing.assert_array_equal(stored(tmp_path, mapped), VALUES)
