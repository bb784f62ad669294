# SPDX-License-Identifier: BSD-3-Clause
"""Store: a folder of matrices of one shape, filled and read by rows."""

from __future__ import annotations

import ctypes
import math
import operator
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

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
    Moved,
    MoveRows,
    byref,
    element_of,
    loaded,
    path_bytes,
)
from lanewise.wavefront.mapped import give_pages_back
from lanewise.wavefront.matrix import Matrix
from lanewise.wavefront.options import (
    Borders,
    Directions,
    Ending,
    Rates,
    run_options,
    size_bytes,
    text_bytes,
    whole_number,
)
from lanewise.wavefront.planning import Plan, plan_of
from lanewise.wavefront.progress import MovedRows, OnShare

Array = npt.NDArray[Any]

# What a shape has where nothing else is asked for.
_SHAPE = {
    "data": 1, "coefficients": 0, "row_coefficients": 0, "column_coefficients": 0,
    "dtype": "float64", "layout": "row-major", "strip_rows": 0, "tile_columns": 0,
}  # fmt: skip
_COUNTS = {
    "data": "data_count", "coefficients": "coefficient_count",
    "row_coefficients": "row_coefficient_count", "column_coefficients": "column_coefficient_count",
}  # fmt: skip
_SIDE_MAX = 1 << 40
_COUNT_MAX = 64
_UNDER_WAY = (
    "a run of the store or a write to it is under way, and what it calls may only read the store; "
    "write to it, run it or close it once that has ended"
)
_CLOSED = "the store is closed; open it again with Store.open"
_IN_USE = "a call of the store is under way; close it once that has ended"
_ELSEWHERE = (
    "a run of the store is under way on another thread, which replaces what would be read; "
    'open it again with mode "r" to read it meanwhile'
)


class Store:
    """An open store; close it, or use it in a `with` statement.  Others do not change it meanwhile.

    A store is read like an array, which is its first data matrix: `store[10:20]` reads ten rows and
    numpy.asarray(store) all.  `store["f"]` is another matrix of it, read the same way.  Matrices
    are named or numbered, data first.  A store that nothing refers to any more is closed, too.
    """

    def __init__(self, handle: ctypes.c_void_p, failures: Failures) -> None:
        self._handle = handle
        self._close = weakref.finalize(self, loaded().lw_wavefront_close, handle)
        # The system closes it at exit, when a thread may still be within a call.
        self._close.atexit = False
        self.failures = failures
        # Dask reads rows from several threads.
        self._reading = threading.Lock()
        self._changing = threading.Lock()
        # Calls that use the native store, which must not be closed meanwhile.
        self._calls = 0
        self._counting = threading.Condition()
        # The thread of a run, which alone may read the store meanwhile; None where any may.
        self._runner: int | None = None

    @classmethod
    def open(cls, folder: str | Path, mode: str = "r+") -> Store:
        """Open the store in `folder`.  RequestError where there is none or it is in use.

        With mode "r" it is not to be changed, and may be in use: what is read is the generation
        that is committed now.  A run waits until the store is closed before it replaces that.
        """
        if mode not in ("r", "r+"):
            raise RequestError(f'a store is opened with mode "r" or "r+", not "{mode}"')
        native = loaded()
        function = native.lw_wavefront_open_reading if mode == "r" else native.lw_wavefront_open
        handle, failures = ctypes.c_void_p(), Failures()
        failures.check(function(path_bytes(folder), failures.callback, None, byref(handle)))
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
        names: Sequence[str] | None = None,
    ) -> Store:
        """Make an empty store in the new folder `folder`; matrices are data first.

        `rows` may be the whole shape: (rows, columns), or (planes, lines, columns) for three
        dimensions.  Where rows are too long for the memory, `tile_columns` cuts them into tiles.
        `row_coefficients` are one value for each row and called row0 and so on,
        `column_coefficients` one for each column and called column0 and so on; they are numbered
        behind the matrices, and written as arrays of (rows, 1) and (1, columns).  `names` are those
        of all matrices in the order of their numbers, of letters, digits, _ and -; without them
        matrices are called data0, ..., coefficient0, ....  Elements are in the machine's order of
        bytes, whatever that of `dtype`.  RequestError for a shape that cannot be, and for a folder
        that is not empty.
        """
        shape = shape_of(
            rows, columns, data=data, coefficients=coefficients, dtype=dtype, layout=layout,
            strip_rows=strip_rows, tile_columns=tile_columns, row_coefficients=row_coefficients,
            column_coefficients=column_coefficients,
        )  # fmt: skip
        return cls._made(loaded().lw_wavefront_create_named, (path_bytes(folder),), shape, names)

    @classmethod
    def in_memory(
        cls,
        rows: int | tuple[int, ...],
        columns: int = 0,
        *,
        names: Sequence[str] | None = None,
        **shape: Any,
    ) -> Store:
        """Make an empty store in memory, gone once it is closed; `shape` is as for `create`.

        It takes the memory of two copies of the data matrices and of one of the coefficients,
        beside the `memory` of runs.
        """
        return cls._made(
            loaded().lw_wavefront_create_in_memory, (), shape_of(rows, columns, **shape), names
        )

    @classmethod
    def _made(
        cls,
        function: Any,
        place: tuple[bytes, ...],
        shape: MatrixShape,
        names: Sequence[str] | None,
    ) -> Store:
        count = shape.data_count + shape.coefficient_count
        count += shape.row_coefficient_count + shape.column_coefficient_count
        texts = [text_bytes("a name", name) for name in (() if names is None else names)]
        if texts and len(texts) != count:
            raise RequestError(f"{len(texts)} names for {count} matrices; give one for each")
        called = (ctypes.c_char_p * count)(*texts) if texts else None
        handle, failures = ctypes.c_void_p(), Failures()
        failures.check(
            function(*place, byref(shape), called, failures.callback, None, byref(handle))
        )
        return cls(handle, failures)

    @property
    def handle(self) -> ctypes.c_void_p:
        """Return the native store; RequestError once it is closed."""
        if not self._handle:
            raise RequestError(_CLOSED)
        return self._handle

    def close(self) -> None:
        """Close the store; others may then change it.  RequestError while a call is under way."""
        with self._counting:
            if self._calls:
                raise RequestError(_UNDER_WAY if self._changing.locked() else _IN_USE)
            self._handle = ctypes.c_void_p()
        self._close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store can be neither copied nor pickled; open it again with Store.open")

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Use the native store meanwhile; RequestError where it is closed, or run elsewhere."""
        with self._counting:
            if not self._handle:
                raise RequestError(_CLOSED)
            if self._runner not in (None, threading.get_ident()):
                raise RequestError(_ELSEWHERE)
            self._calls += 1
        try:
            yield
        finally:
            with self._counting:
                self._calls -= 1
                self._counting.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the store meanwhile; RequestError where a run or a write is under way."""
        if not self._changing.acquire(blocking=False):
            raise RequestError(_UNDER_WAY)
        try:
            with self.calling():
                yield
        finally:
            self._changing.release()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run meanwhile, as `changing`; other threads are refused what they would read."""
        with self.changing():
            self._runner = threading.get_ident()
            try:
                yield
            finally:
                self._runner = None

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Let all threads read while a run waits for what it called, and wait for their ends."""
        with self._counting:
            runner, self._runner, calls = self._runner, None, self._calls
        try:
            yield
        finally:
            with self._counting:
                self._runner = runner
                self._counting.wait_for(lambda: self._calls <= calls)

    @property
    def native_shape(self) -> MatrixShape:
        """Return the native description of the shape."""
        shape = MatrixShape(struct_size=ctypes.sizeof(MatrixShape))
        self.failures.check(loaded().lw_wavefront_query(self.handle, byref(shape), None))
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
    def names(self) -> tuple[str, ...]:
        """Return the names of all matrices in the order of their numbers, data first."""
        shape = self.native_shape
        count = shape.data_count + shape.coefficient_count
        count += shape.row_coefficient_count + shape.column_coefficient_count
        name = loaded().lw_wavefront_matrix_name
        return tuple(name(self.handle, number).decode() for number in range(count))

    @property
    def layout(self) -> str:
        """Return the name of the layout, such as "row-major"."""
        name: bytes = self.native_shape.layout
        return name.decode()

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
        self.failures.check(loaded().lw_wavefront_query(self.handle, None, byref(count)))
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
        name = text_bytes("matrix", matrix)
        status = loaded().lw_wavefront_matrix_named(self.handle, name, byref(number))
        self.failures.check(status)
        return number.value

    def write(self, matrix: int | str, values: Any, *, on_progress: OnShare | None = None) -> None:
        """Replace matrix `matrix` with the array `values` of the same shape, a strip at a time.

        Anything that has `shape`, `dtype` and slices of rows will do: numpy, Zarr, HDF5, dask, a
        variable of xarray.  Where it has `chunks`, their rows are read together, up to 256 MiB, so
        each is read, or computed, once.  Values of another byte order or width are converted, and
        integers to floating point: rounded to the nearest, RunError for one that is out of range.
        RequestError for another shape, where real numbers would become integers, or complex ones
        real, and while a run of the store or another write to it is under way; RunError for masked
        values.
        `on_progress(share, elapsed_s)` is called now and then, `share` going from 0 to 1; what it
        raises is raised.  The matrix is as before where this raises.
        """
        shape = self.shape_of(matrix)
        if not (hasattr(values, "shape") and hasattr(values, "dtype")):
            raise RequestError(f"a {type(values).__name__} is no array; give numpy.asarray of it")
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

        with self.changing():
            self._move(loaded().lw_wavefront_write, matrix, give, on_progress)

    def read(self, matrix: int | str) -> Array:
        """Return matrix `matrix` as an array in memory; RunError where a strip is damaged."""
        found = np.empty(self.shape_of(matrix), self.dtype)

        def take(first: int, rows: Array) -> None:
            found[first : first + len(rows)] = rows

        self.each_strip(matrix, take)
        return found

    def read_rows(self, matrix: int | str, first: int, count: int) -> Array:
        """Return `count` rows from row `first` on, shape (count, columns).

        In three dimensions the rows are planes.  Only strips that hold them are read.  Raises
        RequestError for rows that are not in the matrix, RunError where a strip is damaged.
        """
        number, (rows, *row) = self._number(matrix), self.shape_of(matrix)
        if not 0 <= first <= first + count <= rows:
            raise RequestError(
                f"{count} rows from row {first} on are not in a matrix of {rows} rows"
            )
        found = np.empty((count, *row), self.dtype)
        read = loaded().lw_wavefront_read_rows
        with self.calling(), self._reading:
            self._check(lambda: read(self.handle, number, first, count, found.ctypes.data))
        return found

    def each_strip(
        self,
        matrix: int | str,
        take: Callable[[int, Array], None],
        *,
        on_progress: OnShare | None = None,
    ) -> None:
        """Call `take(first_row, rows)` for the strips of a matrix, in order.

        `rows` is valid during the call only.  `on_progress` is as for `write`.  RequestError while
        another thread runs the store, as for all that reads it, except within what the run calls.
        """
        with self.calling():
            self._move(loaded().lw_wavefront_read, matrix, take, on_progress)

    def plan(  # noqa: PLR0913
        self,
        kernel: Any,
        iterations: int,
        *,
        memory: str | float = "1GiB",
        parameters: Sequence[float] = (),
        threads: int = 0,
        waves: int = 0,
        rates: Rates = Rates(),  # noqa: B008
        directions: Directions = "down-right",
        borders: Borders = "fixed",
        tolerance: float | None = None,
        until: str | None = None,
        rtol: float = 0.0,
        atol: float = 0.0,
        pause_every: int = 0,
    ) -> Plan:
        """Return what `lanewise.wavefront.run` with these arguments would do, without doing it.

        RequestError where it could not be run: a kernel that does not suit the store, or too small
        a `memory`, with the least that does.  A part of a store is planned as if it were whole.
        """
        options = run_options(
            iterations, memory=memory, threads=threads, waves=waves,
            ending=Ending(tolerance, until, rtol, atol), directions=directions, borders=borders,
            pause_every=pause_every, rates=rates,
        )  # fmt: skip
        return plan_of(self.native_shape, kernel, parameters, options)

    def convert(  # noqa: PLR0913
        self,
        folder: str | Path,
        *,
        layout: str | None = None,
        strip_rows: int = 0,
        tile_columns: int | None = None,
        memory: str | float = "1GiB",
        on_progress: OnShare | None = None,
    ) -> Store:
        """Copy the store into the new store `folder`, and return that, open.

        The copy has another `layout`, other `strip_rows` or other `tile_columns` (0: rows are
        whole); what is not given is as here.  An unfinished run is copied, too.  `memory` is the
        budget of this, in bytes or as "2GiB", and `on_progress` is as for `write`.  Nothing is left
        in `folder` where this raises: RequestError for a layout, sizes or a folder that cannot be,
        RunError where a strip is damaged or the disk is full.
        """
        shape = self.native_shape
        shape.layout = shape.layout if layout is None else text_bytes("layout", layout)
        shape.strip_rows = whole_number("strip_rows", strip_rows, _SIDE_MAX)
        if tile_columns is not None:
            shape.tile_columns = whole_number("tile_columns", tile_columns, _SIDE_MAX)
        budget_bytes, place = size_bytes(memory), path_bytes(folder)
        function = loaded().lw_wavefront_convert
        self.copy_by(
            lambda moved: int(
                function(self.handle, place, byref(shape), budget_bytes, moved, None)
            ),
            on_progress,
        )
        return Store.open(folder)

    def copy_by(self, function: Callable[[Any], int], on_progress: OnShare | None) -> None:
        """Call `function(moved)`, a native copy of the store that calls `moved` as rows move."""
        call = Call(lambda: loaded().lw_wavefront_stop(self.handle))
        moved = _moved(call, on_progress)
        with self.calling():
            self._check(lambda: function(moved), call)

    def verify(self) -> None:
        """Check every strip; RunError names those that are damaged."""
        with self.calling():
            self._check(lambda: int(loaded().lw_wavefront_verify(self.handle)))

    def _check(self, function: Callable[[], int], call: Call | None = None) -> None:
        """Make a native call that an interrupt ends within a strip."""
        call = call or Call(lambda: loaded().lw_wavefront_stop(self.handle))
        try:
            status = call.result(function)
        except BaseException:
            self.failures.reasons.clear()
            raise
        self.failures.check(status)

    def _move(
        self,
        function: Any,
        matrix: int | str,
        move: Callable[[int, Array], None],
        on_progress: OnShare | None,
    ) -> None:
        shown = MovedRows(on_progress, self.shape_of(matrix)[0])
        row, dtype, number = self.shape_of(matrix)[1:], self.dtype, self._number(matrix)
        call = Call()

        def moved(_context: object, first: int, count: int, address: int) -> int:
            size = count * math.prod(row) * dtype.itemsize
            bytes_ = (ctypes.c_char * size).from_address(address)
            try:
                # Fails where the caller was interrupted.
                if call.raised is None:
                    rows = np.frombuffer(memoryview(bytes_), dtype).reshape(count, *row)
                    _move_rows(move, first, rows)
                    if (show := shown.share(first + count)) is not None:
                        call.on_caller(show)
            except BaseException as error:  # may not cross the C border
                call.fail(error)
            return int(call.raised is not None)

        callback = MoveRows(moved)
        try:
            status = call.result(lambda: function(self.handle, number, callback, None))
        except BaseException:
            self.failures.reasons.clear()
            raise
        self.failures.check(status)


def _move_rows(move: Callable[[int, Array], None], first: int, rows: Array) -> None:
    """Move rows; RunError where that fails."""
    try:
        move(first, rows)
    except Exception as error:
        raise RunError(f"rows could not be moved: {error}") from error


def shape_of(rows: int | tuple[int, ...], columns: int = 0, **given: Any) -> MatrixShape:
    """Return the shape of a store, as `Store.create` takes it, for the library."""
    sides = rows if isinstance(rows, tuple) else (rows, columns)
    if len(sides) not in (2, 3) or (isinstance(rows, tuple) and columns):
        raise RequestError(f"a store has two sides or three, not {(*sides, columns)}")
    if unknown := given.keys() - _SHAPE.keys():
        raise TypeError(f"a store has no {', '.join(sorted(unknown))}")
    wanted = {**_SHAPE, **given}
    layout = text_bytes("layout", wanted.pop("layout"))
    element = ELEMENTS.index(element_of(wanted["dtype"]))
    sides = tuple(whole_number("a side", side, _SIDE_MAX) for side in sides)
    numbers = {
        name: whole_number(name, wanted[name], _COUNT_MAX if name in _COUNTS else _SIDE_MAX)
        for name in (*_COUNTS, "strip_rows", "tile_columns")
    }
    line_columns = sides[2] if len(sides) == 3 else 0
    return MatrixShape(
        struct_size=ctypes.sizeof(MatrixShape), element=element,
        layout=layout, rows=sides[0],
        columns=whole_number("a row or plane", math.prod(sides[1:]), _SIDE_MAX),
        line_columns=line_columns, strip_rows=numbers["strip_rows"],
        tile_columns=numbers["tile_columns"],
        **{name: numbers[key] for key, name in _COUNTS.items()},
    )  # fmt: skip


def _moved(call: Call, on_progress: OnShare | None) -> Any:
    if on_progress is None:
        return Moved()
    began: list[MovedRows] = []

    def shown(_context: object, done: int, wanted: int) -> None:
        try:
            if not began:
                began.append(MovedRows(on_progress, wanted))
            if (show := began[0].share(done)) is not None:
                call.on_caller(show)
        except BaseException as error:  # may not cross the C border
            call.fail(error)

    return Moved(shown)
