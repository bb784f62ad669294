# SPDX-License-Identifier: BSD-3-Clause
"""Store: a folder of matrices of one shape, filled and read by rows."""

from __future__ import annotations

import ctypes
import math
import operator
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError, RunError
from lanewise.wavefront.bands import Bands
from lanewise.wavefront.calls import Call
from lanewise.wavefront.conversion import check_conversion
from lanewise.wavefront.library import (
    ELEMENTS,
    Failures,
    MatrixShape,
    MoveRows,
    byref,
    library,
)
from lanewise.wavefront.mapped import give_pages_back
from lanewise.wavefront.matrix import Matrix

Array = npt.NDArray[Any]


class Store:
    """An open store; close it, or use it in a `with` statement.  Others do not change it meanwhile.

    A store is read like an array, which is its first data matrix: `store[10:20]` reads ten rows and
    numpy.asarray(store) all.  `store["f"]` is another matrix of it, read the same way.  Matrices
    are named or numbered, data first.
    """

    def __init__(self, handle: ctypes.c_void_p, failures: Failures) -> None:
        self._handle = handle
        self.failures = failures
        # Dask reads rows from several threads.
        self._reading = threading.Lock()

    @classmethod
    def open(cls, folder: str | Path, mode: str = "r+") -> Store:
        """Open the store in `folder`.  RequestError where there is none or it is in use.

        With mode "r" it is not to be changed, and may be in use: what is read is the generation
        that is committed now.  A run waits until the store is closed before it replaces that.
        """
        if mode not in ("r", "r+"):
            raise RequestError(f'a store is opened with mode "r" or "r+", not "{mode}"')
        native = library()
        function = native.lw_wavefront_open_reading if mode == "r" else native.lw_wavefront_open
        handle, failures = ctypes.c_void_p(), Failures()
        failures.check(function(str(folder).encode(), failures.callback, None, byref(handle)))
        return cls(handle, failures)

    @classmethod
    def create(  # noqa: PLR0913
        cls,
        folder: str | Path,
        rows: int | tuple[int, ...],
        columns: int = 0,
        *,
        data: int = 1,
        coefficients: int = 0,
        dtype: npt.DTypeLike = "float64",
        layout: str = "row-major",
        strip_rows: int = 0,
        tile_columns: int = 0,
        row_coefficients: int = 0,
        column_coefficients: int = 0,
    ) -> Store:
        """Make an empty store in the new folder `folder`; matrices are data first.

        `rows` may be the whole shape: (rows, columns), or (planes, lines, columns) for three
        dimensions.  Where rows are too long for the memory, `tile_columns` cuts them into tiles.
        `row_coefficients` are one value for each row and called row0 and so on,
        `column_coefficients` one for each column and called column0 and so on; they are numbered
        behind the matrices, and written as arrays of (rows, 1) and (1, columns).  Elements are in
        the machine's order of bytes, whatever that of `dtype`.
        """
        sides = rows if isinstance(rows, tuple) else (rows, columns)
        if len(sides) not in (2, 3) or (isinstance(rows, tuple) and columns):
            raise RequestError(f"a store has two sides or three, not {(*sides, columns)}")
        kind = np.dtype(dtype)
        if kind.name not in ELEMENTS:
            raise RequestError(f"dtype {kind} cannot be stored; use one of {', '.join(ELEMENTS)}")
        shape = MatrixShape(
            ctypes.sizeof(MatrixShape), ELEMENTS.index(kind.name), layout.encode(),
            data, coefficients, sides[0], math.prod(sides[1:]), strip_rows, tile_columns,
            sides[2] if len(sides) == 3 else 0, row_coefficients, column_coefficients,
        )  # fmt: skip
        handle, failures = ctypes.c_void_p(), Failures()
        status = library().lw_wavefront_create(
            str(folder).encode(), byref(shape), failures.callback, None, byref(handle)
        )
        failures.check(status)
        return cls(handle, failures)

    @property
    def handle(self) -> ctypes.c_void_p:
        """Return the native store; RequestError once it is closed."""
        if not self._handle:
            raise RequestError("the store is closed; open it again with Store.open")
        return self._handle

    def close(self) -> None:
        """Close the store; others may then change it."""
        if self._handle:
            library().lw_wavefront_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def native_shape(self) -> MatrixShape:
        """Return the native description of the shape."""
        shape = MatrixShape(struct_size=ctypes.sizeof(MatrixShape))
        self.failures.check(library().lw_wavefront_query(self.handle, byref(shape), None))
        return shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Return rows and columns of each matrix, or planes, lines and columns."""
        shape = self.native_shape
        if not shape.line_columns:
            return shape.rows, shape.columns
        return shape.rows, shape.columns // shape.line_columns, shape.line_columns

    def shape_of(self, matrix: int | str) -> tuple[int, ...]:
        """Return the shape of a matrix; (rows, 1) or (1, columns) of a coefficient that is one."""
        number, native = self._number(matrix), self.native_shape
        vector = number - native.data_count - native.coefficient_count
        if vector < 0:
            return self.shape
        return (native.rows, 1) if vector < native.row_coefficient_count else (1, native.columns)

    @property
    def strip_rows(self) -> int:
        """Return how many rows move together between disk and memory."""
        return int(self.native_shape.strip_rows)

    @property
    def ndim(self) -> int:
        """Return how many dimensions the matrices have, two or three."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of an element."""
        return np.dtype(ELEMENTS[self.native_shape.element])

    @property
    def iterations(self) -> int:
        """Return how many iterations the data have gone through."""
        count = ctypes.c_uint64()
        self.failures.check(library().lw_wavefront_query(self.handle, None, byref(count)))
        return count.value

    def matrix(self, matrix: int | str) -> Matrix:
        """Return a matrix, to be read like an array; RequestError where there is none."""
        return Matrix(self, self._number(matrix))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return self.matrix(key) if isinstance(key, str) else self.matrix(0)[key]

    # The signature is that of numpy's protocol.
    def __array__(
        self,
        dtype: npt.DTypeLike | None = None,
        copy: bool | None = None,  # noqa: FBT001
    ) -> Array:
        """Return the first data matrix in memory, which is always a copy."""
        return self.matrix(0).__array__(dtype, copy)

    def _number(self, matrix: int | str) -> int:
        shape = self.native_shape
        count = shape.data_count + shape.coefficient_count
        count += shape.row_coefficient_count + shape.column_coefficient_count
        if not isinstance(matrix, str):
            if not 0 <= matrix < count:
                raise RequestError(f"there is no matrix {matrix}; there are {count}, from 0 on")
            return operator.index(matrix)
        number = ctypes.c_uint32()
        status = library().lw_wavefront_matrix_named(self.handle, matrix.encode(), byref(number))
        self.failures.check(status)
        return number.value

    def write(self, matrix: int | str, values: Any) -> None:
        """Replace matrix `matrix` with the array `values` of the same shape, a strip at a time.

        Anything that has `shape`, `dtype` and slices of rows will do: numpy, Zarr, HDF5, dask, a
        variable of xarray.  Where it has `chunks`, their rows are read together, up to 256 MiB, so
        each is read, or computed, once.  Values of another byte order or width are converted, and
        integers to floating point: rounded to the nearest, RunError for one that is out of range.
        RequestError for another shape, and where real numbers would become integers, or complex
        ones real.  The matrix is as before where this raises.
        """
        shape = self.shape_of(matrix)
        if tuple(values.shape) != shape:
            raise RequestError(
                f"an array of {tuple(values.shape)} {values.dtype} is not the store's "
                f"{shape} {self.dtype}; reshape it or take a part of it"
            )
        check_conversion(values.dtype, self.dtype)
        bands = Bands(values, self.dtype)

        def give(first: int, rows: Array) -> None:
            bands.copy(first, rows)
            give_pages_back(values)

        self._move(library().lw_wavefront_write, matrix, give)

    def read(self, matrix: int | str) -> Array:
        """Return matrix `matrix` as an array in memory."""
        found = np.empty(self.shape_of(matrix), self.dtype)

        def take(first: int, rows: Array) -> None:
            found[first : first + len(rows)] = rows

        self.each_strip(matrix, take)
        return found

    def read_rows(self, matrix: int | str, first: int, count: int) -> Array:
        """Return `count` rows from row `first` on; only strips that hold them are read."""
        number, (rows, *row) = self._number(matrix), self.shape_of(matrix)
        if not 0 <= first <= first + count <= rows:
            raise RequestError(
                f"{count} rows from row {first} on are not in a matrix of {rows} rows"
            )
        found = np.empty((count, *row), self.dtype)
        read = library().lw_wavefront_read_rows
        with self._reading:
            self._check(lambda: read(self.handle, number, first, count, found.ctypes.data))
        return found

    def each_strip(self, matrix: int | str, take: Callable[[int, Array], None]) -> None:
        """Call `take(first_row, rows)` for the strips of a matrix, in order."""
        self._move(library().lw_wavefront_read, matrix, take)

    def verify(self) -> None:
        """Check every strip; RunError names those that are damaged."""
        self._check(lambda: int(library().lw_wavefront_verify(self.handle)))

    def _check(self, function: Callable[[], int]) -> None:
        """Make a native call that an interrupt ends within a strip."""
        call = Call(lambda: library().lw_wavefront_stop(self.handle))
        try:
            status = call.result(function)
        except BaseException:
            self.failures.sentences.clear()
            raise
        self.failures.check(status)

    def _move(self, function: Any, matrix: int | str, move: Callable[[int, Array], None]) -> None:
        row, dtype, number = self.shape_of(matrix)[1:], self.dtype, self._number(matrix)
        call = Call()

        def moved(_context: object, first: int, count: int, address: int) -> int:
            size = count * math.prod(row) * dtype.itemsize
            bytes_ = (ctypes.c_char * size).from_address(address)
            try:
                # Fails where the caller was interrupted.
                if call.raised is None:
                    move(first, np.frombuffer(memoryview(bytes_), dtype).reshape(count, *row))
            except BaseException as error:  # may not cross the C border
                call.fail(error)
            return int(call.raised is not None)

        callback = MoveRows(moved)
        try:
            status = call.result(lambda: function(self.handle, number, callback, None))
        except Exception as error:
            self.failures.sentences.clear()
            raise RunError(f"rows could not be moved: {error}") from error
        except BaseException:
            self.failures.sentences.clear()
            raise
        self.failures.check(status)
