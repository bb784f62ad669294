# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of Zarr, HDF5, netCDF and NumPy, streamed into and out of a store a strip at a time.

`problem.h5:temperature` names a dataset in a file, `problem.nc:temperature` a variable, and
`problem.zarr` and `problem.npy` an array.  What moving takes follows from the strips of the store
and the chunks of the array, so a budget of memory is kept by refusing one that is too small.
"""

from __future__ import annotations

import base64
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.errors import RequestError, RunError
from lanewise.files.array_names import ARRAY_SUFFIXES, split_name
from lanewise.files.whole import require_new
from lanewise.wavefront.npy import NewNpy, is_as_stored, open_npy
from lanewise.wavefront.options import size_bytes
from lanewise.wavefront.progress import OnShare
from lanewise.wavefront.store import Store

# What the libraries take for themselves once they move, and the tiles that are under way to or from
# the disk (src/wavefront/plan/moving.cpp).
LIBRARIES_BYTES = 16 << 20
UNDER_WAY_BYTES = 16 << 20

# What HDF5 writes beside the values: for each chunk, and for the rest.
INDEX_BYTES = 128
UNINDEXED_BYTES = 256 << 10

# The attributes that say by which numbers what is missing is marked.
_MARKS = ("_FillValue", "missing_value")
# How xarray says a float64 in format 3 of Zarr, and each part of a complex number: in base64.
_BITS_AS_TEXT = np.dtype("<U12")


def import_array(
    store: Store | str | Path,
    matrix: int | str,
    name: str | Path,
    *,
    memory: str | float = "",
    on_progress: OnShare | None = None,
) -> None:
    """Fill `matrix` of a store, or of the store in a folder, from the array called `name`.

    Names are "FILE.npy", "FILE.zarr", "FILE.h5:DATASET" and "FILE.nc:VARIABLE"; the part behind the
    colon may be left out where there is one such array.  Its shape is that of the matrix, and
    values are converted as by `Store.write`.  `memory` is the budget of the whole program, in bytes
    or as "2GiB"; without one it is not looked at.  `on_progress` is as for `Store.write`.
    RequestError for an array that there is not or that does not suit the matrix, and for too small
    a budget; RunError for values that are missing or out of range.
    """
    with _opened(store, "r+") as opened:
        array = open_array(str(name), opened.ndim)
        check_memory(memory, opened, array)
        opened.write(matrix, array, on_progress=on_progress)


def export_array(
    store: Store | str | Path,
    matrix: int | str,
    name: str | Path,
    *,
    memory: str | float = "",
    on_progress: OnShare | None = None,
) -> None:
    """Write `matrix` of a store, or of the store in a folder, to a new array called `name`.

    Names and the other arguments are as for `import_array`.  RequestError where the file exists,
    cannot be written or is called otherwise, RunError where a strip is damaged or the disk is full.
    Nothing is left of it where this raises.
    """
    with _opened(store, "r") as opened:
        check_memory(memory, opened, None)
        shape = opened.shape_of(matrix)
        with _new_array(str(name), shape, opened.dtype, opened.strip_rows) as array:

            def take(first: int, rows: Any) -> None:
                array[first : first + len(rows)] = rows

            opened.each_strip(matrix, take, on_progress=on_progress)


@contextmanager
def _new_array(name: str, shape: tuple[int, ...], dtype: Any, chunk_rows: int) -> Iterator[Any]:
    """Create an array for writing, of which nothing is left where what is done with it raises."""
    path, array = _new_path(name), None
    try:
        array = create_array(name, shape, dtype, chunk_rows)
        yield array
        _finish(array, name)
    except BaseException:
        _discard(array, path)
        raise


def _finish(array: Any, name: str) -> None:
    try:
        if isinstance(array, NewNpy):
            array.finish()
        elif hasattr(array, "file"):
            array.file.flush()
            # HDF5 does not know of what was reserved and is not used.
            os.truncate(array.file.filename, array.file.id.get_filesize())
            array.file.close()
    except (OSError, RuntimeError) as error:
        raise RunError(f"{name} cannot be written: {error}") from None


def _discard(array: Any, path: Path) -> None:
    if isinstance(array, NewNpy):
        array.discard()
    elif path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


@contextmanager
def _opened(store: Store | str | Path, mode: str) -> Iterator[Store]:
    if isinstance(store, Store):
        yield store
        return
    with Store.open(store, mode=mode) as opened:
        yield opened


def check_memory(memory: str | float, store: Store, array: Any) -> None:
    """Raise RequestError where `memory` is less than moving takes; an empty one is any amount."""
    if not memory:
        return
    strip_rows = store.strip_rows
    itemsize = max(store.dtype.itemsize, 0 if array is None else array.dtype.itemsize)
    row_bytes = math.prod(store.shape[1:]) * itemsize
    chunk_rows = (getattr(array, "chunks", None) or (strip_rows,))[0]
    # The chunks that a strip touches, as they are kept and as they are; and the strip itself.
    chunks_bytes = 2 * (strip_rows + 2 * chunk_rows) * row_bytes
    needed = peak_memory_bytes() + LIBRARIES_BYTES + chunks_bytes + UNDER_WAY_BYTES
    needed += max(UNDER_WAY_BYTES, 3 * strip_rows * row_bytes)
    if size_bytes(memory) < needed:
        least = -(-needed // 2**20)
        raise RequestError(
            f"a memory budget of {memory} is too small to move strips of this store; "
            f"give it --memory {least}MiB or more"
        )


def peak_memory_bytes() -> int:
    """Return the most memory that this program has had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])  # type: ignore[index]


def is_converted(folder: str, name: str) -> bool:
    """Return whether `name` is a .npy file whose values the store does not hold as they are."""
    if not name.endswith(".npy") or not Path(name).is_file():
        return False
    with Store.open(folder, mode="r") as store:
        return not is_as_stored(name, store.dtype)


def open_array(name: str, dimensions: int = 2) -> Any:
    """Open an array for reading, the only one of so many dimensions where a file is named only.

    RequestError where it is not there.
    """
    path, dataset = split_name(name)
    try:
        if path.endswith(".zarr"):
            opened = _module("zarr").open(path, mode="r")
            if not hasattr(opened, "dtype"):
                opened = opened[dataset or _only_dataset(opened, path, dimensions)]
            return _unpacked(opened, name)
        if path.endswith(".npy"):
            return open_npy(path)
        _refuse_classic(path)
        file = _module("h5py").File(path, "r")
        return _unpacked(file[dataset or _only_dataset(file, path, dimensions)], name)
    except (OSError, KeyError, ValueError) as error:
        reason = error if os.path.exists(path) else "there is no such file"  # noqa: PTH110
        raise RequestError(f"{name} cannot be read: {reason}") from None


def create_array(name: str, shape: tuple[int, ...], dtype: Any, chunk_rows: int) -> Any:
    """Create an array for writing; one that exists is refused."""
    path, dataset = str(_new_path(name)), split_name(name)[1]
    chunks = (min(chunk_rows, shape[0]), *shape[1:])
    try:
        if path.endswith(".npy"):
            return NewNpy(Path(path), shape, dtype)
        if path.endswith(".zarr"):
            return _module("zarr").open(path, mode="w", shape=shape, dtype=dtype, chunks=chunks)
        h5py = _module("h5py")
        file = h5py.File(path, "w", track_order=True)
        array = _new_dataset(file, dataset or "data", shape=shape, dtype=dtype, chunks=chunks)
        if path.endswith(".nc"):
            _name_dimensions(file, array)
        _reserve(file, array)
        return array
    except OSError as error:
        raise RunError(f"{name} cannot be written: {error}") from None


def _new_dataset(file: Any, name: str, **shape: Any) -> Any:
    """Create a dataset; RequestError for a name that none can have."""
    try:
        return file.create_dataset(name, track_order=True, **shape)
    except ValueError as error:
        place = f"{file.filename}:{name}"
        raise RequestError(f"{place} cannot be written: {error}; name another") from None


def _reserve(file: Any, array: Any) -> None:
    """Take the room on the disk for all values; OSError where there is too little."""
    # HDF5 crashes where it closes a file that it could not write.
    chunk_rows, *_ = array.chunks
    count = -(-array.shape[0] // chunk_rows)
    chunk_bytes = math.prod(array.chunks) * array.dtype.itemsize + INDEX_BYTES
    size = count * chunk_bytes + UNINDEXED_BYTES
    os.posix_fallocate(file.id.get_vfd_handle(), 0, size)


def _new_path(name: str) -> Path:
    """Return where a new array of this name goes; RequestError where none can be."""
    path = Path(split_name(name)[0])
    if path.suffix not in (known := (".npy", *ARRAY_SUFFIXES)):
        raise RequestError(f"{path} is no name of an array; let it end with {', '.join(known)}")
    # An array of Zarr is a folder.
    if path.suffix == ".zarr" and os.path.exists(path):  # noqa: PTH110
        raise RequestError(f"{path} exists; name another")
    require_new(path)
    return path


def _name_dimensions(file: Any, array: Any) -> None:
    # netCDF-4 says the dimensions of a variable by scales of HDF5, here without coordinates.
    for axis, (name, length) in enumerate(zip("zyx"[-array.ndim :], array.shape, strict=True)):
        if name in file:
            place = f"{file.filename}:{array.name.lstrip('/')}"
            raise RequestError(
                f"{place} cannot be written: netCDF has a dimension {name} there; name another"
            )
        scale = file.create_dataset(name, shape=(length,), dtype=">f4", track_order=True)
        scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{length:10d}")
        scale.attrs["_Netcdf4Dimid"] = np.int32(axis)
        array.dims[axis].attach_scale(scale)


def _refuse_classic(path: str) -> None:
    with Path(path).open("rb") as file:
        if file.read(3) == b"CDF":
            raise RequestError(
                f"{path} is in the classic format of netCDF; convert it with "
                "nccopy -k netCDF-4, or write it to the store from Python through xarray"
            )


def _only_dataset(file: Any, path: str, dimensions: int) -> str:
    # The coordinates that xarray writes beside a variable have one dimension.
    names = sorted(str(name) for name in file if getattr(file[name], "ndim", 0) == dimensions)
    if len(names) == 1:
        return names[0]
    if not names:
        word = "two" if dimensions == 2 else "three"
        raise RequestError(f"{path} holds no {word}-dimensional array; name one in a group of it")
    raise RequestError(f"{path} holds {', '.join(names)}; say which, as {path}:{names[0]}")


def _unpacked(array: Any, name: str) -> Any:
    packing = [key for key in ("scale_factor", "add_offset") if key in array.attrs]
    if not hasattr(array, "dtype"):
        raise RequestError(f"{name} is a group; name an array in it")
    if packing:
        raise RequestError(
            f"{name} is packed ({', '.join(packing)}); write it with its values first, "
            "such as by xarray without an encoding"
        )
    missing = _missing(array, split_name(name)[0])
    return _Filled(array, name, missing) if missing else array


def _missing(array: Any, path: str) -> dict[str, Any]:
    """Return the numbers that mark what is missing, by the attribute that says so."""
    marks = {key: array.attrs[key] for key in _MARKS if key in array.attrs}
    # In format 2 xarray leaves it to Zarr, where 0 is what arrays have that were given none.
    if "_ARRAY_DIMENSIONS" in array.attrs and getattr(array, "fill_value", None):
        marks.setdefault("_FillValue", array.fill_value)
    # netCDF says here what it reads where nothing was written, and counts no bytes as missing.
    unwritten = getattr(array, "fillvalue", None)
    if path.endswith(".nc") and array.dtype.itemsize > 1 and unwritten:
        marks.setdefault("_FillValue", unwritten)
    numbers = {key: _numbers(mark, array.dtype) for key, mark in marks.items()}
    return {key: found for key, found in numbers.items() if len(found)}


def _numbers(mark: Any, dtype: np.dtype[Any]) -> Any:
    """Return the numbers that an attribute holds, as those of an array of `dtype`, without NaN."""
    found = np.asarray(mark).ravel()
    if found.dtype == _BITS_AS_TEXT:
        bits = b"".join(map(base64.b64decode, found))
        found = np.frombuffer(bits, "<c16" if dtype.kind == "c" else "<f8")
    if found.dtype.kind not in "iufc":
        return found[:0]
    if dtype.kind in "fc":
        found = found.astype(dtype)
    return found[~np.isnan(found)]


class _Filled:
    """An array in a file that says by which values it marks what is missing."""

    def __init__(self, array: Any, name: str, missing: dict[str, Any]) -> None:
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks
        self._array, self._name, self._missing = array, name, missing

    def __getitem__(self, rows: slice) -> Any:
        found = self._array[rows]
        for key, numbers in self._missing.items():
            if np.isin(found, numbers).any():
                raise RunError(
                    f"{self._name} has missing values ({key} {', '.join(map(str, numbers))}) in "
                    f"rows {rows.start} to {rows.stop - 1}; put numbers in their place first"
                )
        return found


def _module(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise RequestError(
            f"{name} is not installed; install it with: pip install {name}"
        ) from None
