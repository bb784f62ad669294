# SPDX-License-Identifier: BSD-3-Clause
"""Run: iterate over a store, or over arrays in memory; or say what that would take."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError, RunError
from lanewise.interrupts import deferred_interrupts
from lanewise.wavefront.calls import Call, KernelErrors
from lanewise.wavefront.kernel import OwnKernel, native_kernel
from lanewise.wavefront.library import (
    OnPause,
    OnProgress,
    Progress,
    RunOptions,
    RunOutcome,
    byref,
    loaded,
    members,
)
from lanewise.wavefront.mapped import give_pages_back, reserve_room
from lanewise.wavefront.matrix import Matrix
from lanewise.wavefront.options import (
    Borders,
    Directions,
    Ending,
    Rates,
    run_options,
    text_bytes,
)
from lanewise.wavefront.planning import Plan, plan_of
from lanewise.wavefront.progress import OnShare
from lanewise.wavefront.scratch import Scratch
from lanewise.wavefront.store import Store, shape_of

OnIterations = Callable[[int, float], None]

# What a strip has by default.
_STRIP_BYTES = 1 << 20
_STRIP_LEAST = {2: 8, 3: 1}  # rows of two dimensions, and planes of three, by default


@dataclass(frozen=True)
class Outcome:
    """What a run did.  `last_change` is 0 without a tolerance; bytes and seconds are totals."""

    iterations: int
    converged: bool
    last_change: float
    waves: int
    read_bytes: int
    written_bytes: int
    peak_memory_bytes: int
    elapsed_s: float


@dataclass(frozen=True)
class Callbacks:
    """What a run calls now and then, and what it calls between iterations."""

    progress: OnShare | None = None
    pause: OnIterations | None = None


def run(  # noqa: PLR0913
    store: Store | str | Path | Any | Sequence[Any],
    kernel: str | OwnKernel | Any,
    iterations: int,
    *,
    memory: str | float = "1GiB",
    parameters: Sequence[float] = (),
    threads: int = 0,
    waves: int = 0,
    tolerance: float | None = None,
    directions: Directions = "down-right",
    borders: Borders = "fixed",
    until: str | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    pause_every: int = 0,
    on_pause: OnIterations | None = None,
    check_finite: bool = False,
    on_progress: OnShare | None = None,
    rates: Rates = Rates(),  # noqa: B008
    folder: str | Path | None = None,
) -> Outcome:
    """Iterate with `kernel`: a built-in name, a `RowKernel` or `PlaneKernel`, or a cfunc.

    `store` is a `Store`, its folder, an array, or a list of arrays of one shape, (rows, columns) or
    (planes, lines, columns): the first is updated in place and says the dtype, the others are
    coefficients.  For kernels of your own the last ones may be of (rows, 1), one value for each
    row, or (1, columns), one for each column.  Arrays of NumPy in memory are swept there, where
    that leaves half of what is free; otherwise, and where `folder` is given, through a store in a
    new folder in it (or in that for temporary files), which is removed at the end.  The bits are
    the same.

    `memory` is the budget of the sweep, in bytes or as "2GiB", `threads` are those that compute, 0
    for all processors within a quota of CPU time, and `waves` are the iterations that share a pass,
    0 for as many as fit and pay at these `rates`.  `parameters` are those of a built-in kernel.

    With a `tolerance` the run ends once no cell changes by more, in the unit of the data; with 0,
    once nothing changes.  With `rtol` or `atol` it ends once the residual, the 2-norm of what an
    iteration would change, is at most max(rtol * first, atol), `first` being that before the first
    iteration.  It ends once `until` holds, such as "residual<1e-8" or "residual<1e-8*first" (also
    norm, sum, max, min).  These are asked after every `pause_every` iterations (0: 32), when
    `on_pause(iterations, measured)` is called, too; it may read the store, not change it.

    Iterations go in `directions` in turn: "down-right", "down-left", "up-left", "up-right",
    "symmetric" or "fast-sweeping", in three dimensions also "symmetric-3d" or "fast-sweeping-3d",
    or several of these; with a `tolerance` the run then ends once as many iterations as there are
    directions are within it.  `borders` are "fixed", "neumann" or "periodic", or say so per side:
    {"left": "neumann", "rows": "periodic"}; sides are top, bottom, left, right, rows and columns,
    in three dimensions also front, back and lines.

    `on_progress(share, elapsed_s)` is called now and then, `share` going from 0 to 1; a
    `ProgressBar` will do.  Raises RequestError for what cannot be done, RunError for what failed, a
    kernel that raised among it; what `on_progress` and `on_pause` raise and an interrupt end the
    run and are raised.  A store then holds the data of its last whole pass, and arrays are as they
    were; an interrupt while the result is copied to an array is raised once that has all rows.
    """
    options = run_options(
        iterations, memory=memory, threads=threads, waves=waves,
        ending=Ending(tolerance, until, rtol, atol), directions=directions, borders=borders,
        pause_every=pause_every, check_finite=int(check_finite), rates=rates,
    )  # fmt: skip
    callbacks = Callbacks(on_progress, on_pause)
    if isinstance(store, Store):
        return _run(store, kernel, parameters, options, callbacks)
    if isinstance(store, (str, Path)):
        with Store.open(store) as opened:
            return _run(opened, kernel, parameters, options, callbacks)
    return _run_arrays(_arrays(store), kernel, parameters, options, callbacks, folder)


def plan(  # noqa: PLR0913
    store: Store | str | Path | tuple[int, ...] | Any | Sequence[Any],
    kernel: str | OwnKernel | Any,
    iterations: int,
    *,
    memory: str | float = "1GiB",
    rates: Rates = Rates(),  # noqa: B008
    parameters: Sequence[float] = (),
    data: int = 1,
    coefficients: int = 0,
    row_coefficients: int = 0,
    column_coefficients: int = 0,
    dtype: npt.DTypeLike = "float64",
    layout: str = "row-major",
    strip_rows: int = 0,
    tile_columns: int = 0,
    directions: Directions = "down-right",
    borders: Borders = "fixed",
    threads: int = 0,
    waves: int = 0,
    tolerance: float | None = None,
    until: str | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    pause_every: int = 0,
) -> Plan:
    """Return what `run` with these arguments would do, without doing it.

    `store` is a `Store`, its folder, an array or a list of arrays, as for `run`; or the shape of a
    store that there need not be, (rows, columns) or (planes, lines, columns), with `data`,
    `coefficients`, `row_coefficients`, `column_coefficients`, `dtype`, `layout`, `strip_rows` and
    `tile_columns` as for `Store.create`.  For a run with `on_pause` and no `pause_every`, give a
    `pause_every` of 32, which it has.  RequestError where it could not be run: a kernel that does
    not suit the shape, or too small a `memory`, with the least that does.
    """
    options = run_options(
        iterations, memory=memory, threads=threads, waves=waves,
        ending=Ending(tolerance, until, rtol, atol), directions=directions, borders=borders,
        pause_every=pause_every, rates=rates,
    )  # fmt: skip
    if isinstance(store, (str, Path)):
        with Store.open(store, mode="r") as opened:
            return plan_of(opened.native_shape, kernel, parameters, options)
    if isinstance(store, Store):
        return plan_of(store.native_shape, kernel, parameters, options)
    if isinstance(store, tuple) and all(isinstance(side, (int, np.integer)) for side in store):
        shape = shape_of(
            store, data=data, coefficients=coefficients, dtype=dtype, layout=layout,
            strip_rows=strip_rows, tile_columns=tile_columns, row_coefficients=row_coefficients,
            column_coefficients=column_coefficients,
        )  # fmt: skip
        return plan_of(shape, kernel, parameters, options)
    arrays = _arrays(store)
    whole, by_row, by_column = _coefficient_counts(arrays)
    shape = shape_of(
        tuple(map(int, arrays[0].shape)), coefficients=whole, dtype=arrays[0].dtype,
        strip_rows=_strip_rows(arrays[0], kernel, options.borders), row_coefficients=by_row,
        column_coefficients=by_column,
    )  # fmt: skip
    return plan_of(shape, kernel, parameters, options)


def resume(  # noqa: PLR0913
    store: Store | str | Path,
    kernel: OwnKernel | Any | None = None,
    *,
    memory: str | float = "1GiB",
    threads: int = 0,
    waves: int = 0,
    check_finite: bool = False,
    on_pause: OnIterations | None = None,
    on_progress: OnShare | None = None,
    rates: Rates = Rates(),  # noqa: B008
) -> Outcome:
    """Go on with a run that was interrupted; one with a kernel of your own needs that kernel.

    `memory`, in bytes or as "2GiB", and the other arguments are as for `run`.  It pauses as before,
    or every 32 iterations if it did not, and calls `on_pause` first for a pause in which it ended.
    Raises RequestError where there is no such run, or another kernel than that of the run, and
    otherwise what `run` raises.
    """
    options = run_options(
        1, memory=memory, threads=threads, waves=waves, check_finite=int(check_finite), rates=rates
    )
    callbacks = Callbacks(on_progress, on_pause)
    if isinstance(store, Store):
        return _resume(store, kernel, options, callbacks)
    with Store.open(store) as opened:
        return _resume(opened, kernel, options, callbacks)


def _resume(store: Store, kernel: Any, options: RunOptions, callbacks: Callbacks) -> Outcome:
    native = loaded()
    function = native.lw_wavefront_resume if kernel is None else native.lw_wavefront_resume_kernel
    arguments = resumed_arguments(kernel, store)
    with store.running():
        return called(store, kernel, function, arguments, options, callbacks)


def resumed_arguments(kernel: OwnKernel | Any | None, store: Store) -> tuple[Any, ...]:
    """Return the arguments of a native call that say with which kernel a run goes on."""
    if kernel is None:
        return ()
    if isinstance(kernel, str):
        raise RequestError(
            f"a run of a built-in kernel needs no kernel again; leave {kernel!r} out"
        )
    return (byref(native_kernel(kernel, store.dtype.name)),)


def kernel_arguments(
    kernel: str | OwnKernel | Any, parameters: Sequence[float], store: Store
) -> tuple[Any, ...]:
    """Return the arguments of a native call that say which kernel sweeps the store."""
    if isinstance(kernel, str):
        values = (ctypes.c_double * len(parameters))(*parameters)
        return text_bytes("kernel", kernel), values, len(values)
    return (byref(native_kernel(kernel, store.dtype.name)),)


def called(  # noqa: PLR0913, PLR0917
    store: Store,
    kernel: Any,
    function: Any,
    arguments: tuple[Any, ...],
    options: RunOptions,
    callbacks: Callbacks,
) -> Outcome:
    """Call a native function that sweeps a store, which is entered as `running`.

    Raises what it, or what it calls, failed with.
    """
    outcome = RunOutcome(struct_size=ctypes.sizeof(RunOutcome))
    call = Call(lambda: loaded().lw_wavefront_stop(store.handle))
    options.progress = _progress(store, call, callbacks.progress)
    options.paused = _paused(store, call, callbacks.pause)
    own = kernel.function if isinstance(kernel, OwnKernel) else kernel
    name = str(getattr(own, "__name__", "kernel"))
    try:
        with KernelErrors(call, own, name):
            status = call.result(
                lambda: function(store.handle, *arguments, byref(options), byref(outcome))
            )
    except BaseException:
        store.failures.reasons.clear()
        raise
    store.failures.check(status)
    return Outcome(**{**members(outcome), "converged": bool(outcome.converged)})


def _progress(store: Store, call: Call, on_progress: OnShare | None) -> Any:
    if on_progress is None:
        return OnProgress()

    def show(share: float, elapsed_s: float) -> None:
        with store.at_rest():
            on_progress(share, elapsed_s)

    def shown(_context: object, progress: Any) -> None:
        try:
            now: Progress = progress.contents
            passed = now.waves * now.strips_done / now.strip_count
            share = (now.iterations_done + passed) / now.iterations_wanted
            elapsed_s = now.elapsed_s
            call.on_caller(lambda: show(share, elapsed_s))
        except BaseException as error:  # may not cross the C border
            call.fail(error)

    return OnProgress(shown)


def _paused(store: Store, call: Call, on_pause: OnIterations | None) -> Any:
    if on_pause is None:
        return OnPause()

    def pause(iterations: int, measured: float) -> None:
        with store.at_rest():
            on_pause(iterations, measured)

    def shown(_context: object, iterations: int, measured: float) -> int:
        try:
            call.on_caller(lambda: pause(iterations, measured))
        except BaseException as error:  # may not cross the C border
            call.fail(error)
        return int(call.raised is not None)

    return OnPause(shown)


def _run(
    store: Store,
    kernel: Any,
    parameters: Sequence[float],
    options: RunOptions,
    callbacks: Callbacks,
) -> Outcome:
    native = loaded()
    is_built_in = isinstance(kernel, str)
    function = native.lw_wavefront_run if is_built_in else native.lw_wavefront_run_kernel
    arguments = kernel_arguments(kernel, parameters, store)
    with store.running():
        return called(store, kernel, function, arguments, options, callbacks)


def _coefficient_counts(arrays: list[Any]) -> tuple[int, int, int]:
    """Return how many coefficients are matrices, one value for each row, and for each column."""
    rows, *_ = shape = tuple(arrays[0].shape)
    kinds = [_kind_of(tuple(array.shape), shape, rows) for array in arrays[1:]]
    if kinds != sorted(kinds):
        raise RequestError(
            "give coefficients of the shape of the data first, then those of (rows, 1), and those "
            "of (1, columns) last"
        )
    return kinds.count(0), kinds.count(1), kinds.count(2)


def _kind_of(shape: tuple[int, ...], data: tuple[int, ...], rows: int) -> int:
    if shape == data or len(data) != 2:
        return 0
    return 1 if shape == (rows, 1) else 2 if shape == (1, data[1]) else 0


def _strip_rows(data: Any, kernel: Any, borders: bytes) -> int:
    """Return how many rows or planes move together, 0 for the default where that is enough.

    A strip holds as many as the stencil reaches to one side, and twice as many next to a border
    that is not fixed.
    """
    radius = kernel.radius if isinstance(kernel, OwnKernel) else 1
    needed = radius if borders == b"fixed" else 2 * radius
    if needed <= _STRIP_LEAST[data.ndim]:
        return 0
    rows, *row = map(int, data.shape)
    row_bytes = max(1, math.prod(row) * int(data.itemsize))
    return max(needed, min(rows, _STRIP_BYTES // row_bytes))


def _arrays(given: Any) -> list[Any]:
    """Return the arrays of a run, of which there is at least one; RequestError for other things."""
    if isinstance(given, Matrix):
        raise RequestError("a matrix of a store is not swept by itself; give the store")
    arrays = [given] if hasattr(given, "ndim") else list(given)
    if not arrays or any(getattr(array, "ndim", 0) not in (2, 3) for array in arrays):
        raise RequestError("give a store, its folder, or arrays of two or three dimensions")
    return arrays


def _check_updated(data: Any) -> None:
    """Raise RequestError where the first array of a run cannot take the result."""
    if isinstance(data, (Store, Matrix)):
        raise RequestError(
            "the first array is updated in place, which a store in a list is not; "
            "give the store by itself"
        )
    if hasattr(data, "__dask_graph__") and data.__dask_graph__() is not None:
        raise RequestError(
            "the first array is updated in place, which a lazy array is not; write it to a store, "
            "and give the store"
        )
    if not getattr(getattr(data, "flags", None), "writeable", True):
        raise RequestError(
            "the first array is updated in place, but is read-only; give a copy, or open its file "
            'with mmap_mode="r+"'
        )


def _run_arrays(  # noqa: PLR0913, PLR0917
    arrays: list[Any],
    kernel: Any,
    parameters: Sequence[float],
    options: RunOptions,
    callbacks: Callbacks,
    folder: str | Path | None,
) -> Outcome:
    data = arrays[0]
    _check_updated(data)
    counts = _coefficient_counts(arrays)
    strip_rows = _strip_rows(data, kernel, options.borders)
    with Scratch(arrays, counts, strip_rows, folder, options.memory_bytes) as scratch:
        reserve_room(data)
        for matrix, array in enumerate(arrays):
            scratch.store.write(matrix, array)
        outcome = _run(scratch.store, kernel, parameters, options, callbacks)
        try:
            _copy_back(scratch.store, data)
        except Exception as error:
            raise RunError(
                f"the array holds the result in part only: {error}; "
                f"all of it is data0 of the store {scratch.keep()}"
            ) from error
    return outcome


def _copy_back(store: Store, data: Any) -> None:
    def take(first: int, rows: Any) -> None:
        data[first : first + len(rows)] = rows
        give_pages_back(data)

    with deferred_interrupts():  # a part of the rows would be a state that no iteration has
        store.each_strip(0, take)
