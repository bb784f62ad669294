# SPDX-License-Identifier: BSD-3-Clause
"""Files of NumPy that a store does not hold as they are: of another type, or in Fortran order.

The native program moves `.npy` files whose bytes are those of the store.  Others are converted here
on the way.  In Fortran order the values of a row are far apart in the file, so bands of rows are
read, a column of a band at a time; mapped pages would hold far more than the band.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RunError
from lanewise.wavefront.mapped import give_pages_back

Array = npt.NDArray[Any]

_BAND_BYTES = 16 << 20


class FortranRows:
    """An array in Fortran order in a file, read by slices of rows."""

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._path, self._offset = path, offset
        row_bytes = math.prod(shape[1:]) * self.dtype.itemsize
        self.chunks = (max(1, min(_BAND_BYTES // max(1, row_bytes), shape[0])), *shape[1:])

    def __getitem__(self, rows: slice) -> Array:
        first, end, _step = rows.indices(self.shape[0])
        columns = math.prod(self.shape[1:])
        found = np.empty((columns, end - first), self.dtype)
        with self._path.open("rb", buffering=0) as file:
            for column, values in enumerate(found.view(np.uint8)):
                file.seek(self._offset + (column * self.shape[0] + first) * self.dtype.itemsize)
                if file.readinto(values) != values.nbytes:
                    raise RunError(f"{self._path} ends within its values")
        return found.reshape(*reversed(self.shape[1:]), end - first).T


@contextlib.contextmanager
def _where_it_can_be() -> Iterator[None]:
    """Pass over what a file system does not have, or a folder does not allow."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.EACCES):
            raise


class NewNpy:
    """A file that is written by slices of rows in order, and has its name once it is whole."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: Any) -> None:
        self._path = path
        self._beside = path.with_name(path.name + ".part")
        try:
            self._rows = np.lib.format.open_memmap(
                self._beside, mode="w+", dtype=dtype, shape=shape
            )
            # A value that the disk has no room for would end the program by SIGBUS.
            with self._beside.open("r+b") as file, _where_it_can_be():
                os.posix_fallocate(file.fileno(), 0, self._beside.stat().st_size)
        except BaseException:
            self.discard()
            raise

    def __setitem__(self, rows: slice, values: Array) -> None:
        self._rows[rows] = values
        give_pages_back(self._rows)

    def finish(self) -> None:
        """Give the file its name, once it is on the disk."""
        self._rows.flush()
        self._beside.rename(self._path)
        with _where_it_can_be():
            folder = os.open(self._path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Remove what has been written."""
        self._beside.unlink(missing_ok=True)


def open_npy(path: str) -> Any:
    """Open a file for reading rows; ValueError or OSError for one that is no sound `.npy` file."""
    shape, _fortran, dtype = _header(path)
    try:
        mapped = np.load(path, mmap_mode="r")
    except ValueError:
        if dtype.hasobject:
            raise
        raise ValueError(f"it ends within its values, {shape} of {dtype}") from None
    if not np.isfortran(mapped):
        return mapped
    return FortranRows(Path(path), mapped.offset, mapped.shape, mapped.dtype)


def is_as_stored(path: str, stored: np.dtype[Any]) -> bool:
    """Return whether the native program reads this file, or says what is wrong with it."""
    try:
        _shape, fortran, dtype = _header(path)
    except (OSError, ValueError, EOFError):
        return True
    return dtype == stored and not fortran


def _header(path: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape of an array, whether it is in Fortran order, and its type."""
    with Path(path).open("rb") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        return np.lib.format.read_array_header_2_0(file)
