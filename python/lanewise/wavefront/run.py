# SPDX-License-Identifier: BSD-3-Clause
"""Run: iterate over a store, or over arrays in memory."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.wavefront.calls import Call, KernelErrors
from lanewise.wavefront.kernel import RowKernel
from lanewise.wavefront.library import (
    Kernel,
    OnPause,
    OnProgress,
    Progress,
    RunOptions,
    RunOutcome,
    byref,
    library,
)
from lanewise.wavefront.mapped import give_pages_back
from lanewise.wavefront.matrix import Matrix
from lanewise.wavefront.signals import deferred
from lanewise.wavefront.store import Store

OnShare = Callable[[float, float], None]
OnIterations = Callable[[int, float], None]

_NEVER = -1.0
# What a strip has by default.
_STRIP_BYTES = 1 << 20
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


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


def size_bytes(text: str | int) -> int:
    """Return "2GiB" in bytes; units are powers of 1024.  RequestError for anything else."""
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise RequestError(f"memory {text!r} is not a size; try '512MiB' or '2GiB'")
    return int(float(match[1]) * 1024 ** _POWERS[match[2].upper()])


def run(  # noqa: PLR0913
    store: Store | str | Path | Sequence[Any],
    kernel: str | RowKernel | Any,
    iterations: int,
    *,
    memory: str | int = "1GiB",
    parameters: Sequence[float] = (),
    threads: int = 0,
    waves: int = 0,
    tolerance: float | None = None,
    directions: str | Sequence[str] = "down-right",
    borders: str | Mapping[str, str] = "fixed",
    until: str | None = None,
    pause_every: int = 0,
    on_pause: OnIterations | None = None,
    check_finite: bool = False,
    on_progress: OnShare | None = None,
) -> Outcome:
    """Iterate with `kernel`: a built-in name, a `RowKernel`, or a Numba cfunc of radius 1.

    `store` is a `Store`, its folder, or a list of 2-D or 3-D arrays of one shape: the first is
    updated in place and says the dtype, the others are coefficients.  For kernels of your own the
    last ones may be of (rows, 1), one value for each row, or (1, columns), one for each column.
    With a
    `tolerance` the run ends once no cell changes by more; with 0, once nothing changes.  Iterations
    go in `directions` in turn: "down-right", "down-left", "up-left", "up-right", "symmetric" or
    "fast-sweeping", in three dimensions also "symmetric-3d" or "fast-sweeping-3d", or several of
    these; the run then ends once as many iterations as there are directions are within the
    tolerance.  `borders` are
    "fixed", "neumann" or "periodic", or say so per side: {"left": "neumann", "rows": "periodic"};
    sides are top, bottom, left, right, rows and columns, in three dimensions also front, back and
    lines.  After every `pause_every` iterations `on_pause(iterations, measured)` is called and may
    read the store, and the run ends once `until` holds, such as "residual<1e-8" or
    "residual<1e-8*first" (also norm, sum, max, min).  `on_progress(share, elapsed_s)` is called now
    and then.  Raises RequestError for what cannot be done, RunError for what failed, a kernel that
    raised among it; what `on_progress` raises and an interrupt end the run and are raised.  A store
    then holds the data of its last whole pass, and arrays are as they were; an interrupt while the
    result is copied to an array is raised once that has all rows.
    """
    options = RunOptions(
        struct_size=ctypes.sizeof(RunOptions), threads=threads, iterations=iterations,
        memory_bytes=size_bytes(memory), waves=waves,
        tolerance=_tolerance(tolerance), check_finite=int(check_finite),
        directions=_directions(directions), borders=_borders(borders),
        until=until.encode() if until else None, pause_every=pause_every,
    )  # fmt: skip
    callbacks = Callbacks(on_progress, on_pause)
    if isinstance(store, Store):
        return _run(store, kernel, parameters, options, callbacks)
    if isinstance(store, (str, Path)):
        with Store.open(store) as opened:
            return _run(opened, kernel, parameters, options, callbacks)
    return _run_arrays(list(store), kernel, parameters, options, callbacks)


def resume(  # noqa: PLR0913
    store: Store | str | Path,
    kernel: RowKernel | Any | None = None,
    *,
    memory: str | int = "1GiB",
    threads: int = 0,
    waves: int = 0,
    check_finite: bool = False,
    on_pause: OnIterations | None = None,
    on_progress: OnShare | None = None,
) -> Outcome:
    """Go on with a run that was interrupted; one with a kernel of your own needs that kernel.

    It pauses as before, and calls `on_pause` first for a pause in which the run ended.
    """
    options = RunOptions(
        struct_size=ctypes.sizeof(RunOptions), threads=threads, iterations=1,
        memory_bytes=size_bytes(memory), waves=waves, tolerance=_NEVER,
        check_finite=int(check_finite),
    )  # fmt: skip
    callbacks = Callbacks(on_progress, on_pause)
    if isinstance(store, Store):
        return _resume(store, kernel, options, callbacks)
    with Store.open(store) as opened:
        return _resume(opened, kernel, options, callbacks)


def _resume(store: Store, kernel: Any, options: RunOptions, callbacks: Callbacks) -> Outcome:
    arguments: tuple[Any, ...]
    if kernel is None:
        function, arguments = library().lw_wavefront_resume, ()
    else:
        function, arguments = library().lw_wavefront_resume_kernel, (byref(_native(kernel)),)
    return _call(store, kernel, function, arguments, options, callbacks)


def _native(kernel: Any) -> Kernel:
    row = kernel if isinstance(kernel, RowKernel) else RowKernel(kernel)
    return Kernel(
        struct_size=ctypes.sizeof(Kernel), radius=row.radius,
        reads=int(row.reads == "previous"), watch_writes=int(row.watch_writes),
        context=row.context_address, name=row.name.encode(),
        **{"update_directed" if row.is_directed else "update": row.address},
    )  # fmt: skip


def _call(  # noqa: PLR0913, PLR0917
    store: Store,
    kernel: Any,
    function: Any,
    arguments: tuple[Any, ...],
    options: RunOptions,
    callbacks: Callbacks,
) -> Outcome:
    outcome = RunOutcome(struct_size=ctypes.sizeof(RunOutcome))
    call = Call(lambda: library().lw_wavefront_stop(store.handle))
    options.progress = _progress(call, callbacks.progress)
    options.paused = _paused(call, callbacks.pause)
    own = kernel.function if isinstance(kernel, RowKernel) else kernel
    name = str(getattr(own, "__name__", "kernel"))
    try:
        with KernelErrors(call, own, name):
            status = call.result(
                lambda: function(store.handle, *arguments, byref(options), byref(outcome))
            )
    except BaseException:
        store.failures.sentences.clear()
        raise
    store.failures.check(status)
    values_by_name = {name: getattr(outcome, name) for name, _type in RunOutcome._fields_}
    return Outcome(**{**values_by_name, "converged": bool(outcome.converged)})


def _tolerance(tolerance: float | None) -> float:
    if tolerance is None:
        return _NEVER
    if not 0.0 <= tolerance < math.inf:
        raise RequestError(f"tolerance {tolerance} is not 0 or above; None means never")
    return tolerance


def _directions(directions: str | Sequence[str]) -> bytes:
    return (directions if isinstance(directions, str) else ",".join(directions)).encode()


def _borders(borders: str | Mapping[str, str]) -> bytes:
    if isinstance(borders, str):
        return borders.encode()
    return ",".join(f"{side}={kind}" for side, kind in borders.items()).encode() or b"fixed"


def _progress(call: Call, on_progress: OnShare | None) -> Any:
    if on_progress is None:
        return OnProgress()

    def shown(_context: object, progress: Any) -> None:
        try:
            now: Progress = progress.contents
            passed = now.waves * now.strips_done / now.strip_count
            share = (now.iterations_done + passed) / now.iterations_wanted
            elapsed_s = now.elapsed_s
            call.on_caller(lambda: on_progress(share, elapsed_s))
        except BaseException as error:  # may not cross the C border
            call.fail(error)

    return OnProgress(shown)


def _paused(call: Call, on_pause: OnIterations | None) -> Any:
    if on_pause is None:
        return OnPause()

    def shown(_context: object, iterations: int, measured: float) -> int:
        try:
            call.on_caller(lambda: on_pause(iterations, measured))
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
    arguments: tuple[Any, ...]
    if isinstance(kernel, str):
        values = (ctypes.c_double * len(parameters))(*parameters)
        function, arguments = library().lw_wavefront_run, (kernel.encode(), values, len(values))
    else:
        function, arguments = library().lw_wavefront_run_kernel, (byref(_native(kernel)),)
    return _call(store, kernel, function, arguments, options, callbacks)


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
    """Return how many planes move together, 0 for the default: borders need several at once."""
    if data.ndim == 2 or borders == b"fixed":
        return 0
    radius = kernel.radius if isinstance(kernel, RowKernel) else 1
    planes, lines, columns = map(int, data.shape)
    plane_bytes = max(1, lines * columns * int(data.itemsize))
    return max(2 * radius, min(planes, _STRIP_BYTES // plane_bytes))


def _run_arrays(
    arrays: list[Any],
    kernel: Any,
    parameters: Sequence[float],
    options: RunOptions,
    callbacks: Callbacks,
) -> Outcome:
    if not arrays or any(getattr(array, "ndim", 0) not in (2, 3) for array in arrays):
        raise RequestError(
            "give a store, its folder, or a list of arrays of two or three dimensions"
        )
    data = arrays[0]
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
    with ExitStack() as left:
        folder = tempfile.mkdtemp(prefix="lanewise-wavefront-")
        left.callback(shutil.rmtree, folder)
        whole, by_row, by_column = _coefficient_counts(arrays)
        with Store.create(
            Path(folder) / "store", tuple(data.shape), coefficients=whole, dtype=data.dtype,
            row_coefficients=by_row, column_coefficients=by_column,
            strip_rows=_strip_rows(data, kernel, options.borders),
        ) as store:  # fmt: skip
            for matrix, array in enumerate(arrays):
                store.write(matrix, array)
            outcome = _run(store, kernel, parameters, options, callbacks)
            try:
                _copy_back(store, data)
            except Exception as error:
                left.pop_all()  # keeps the folder
                raise RunError(
                    f"the array holds the result in part only: {error}; "
                    f"all of it is data0 of the store {folder}/store"
                ) from error
    return outcome


def _copy_back(store: Store, data: Any) -> None:
    def take(first: int, rows: Any) -> None:
        data[first : first + len(rows)] = rows
        give_pages_back(data)

    with deferred():  # a part of the rows would be a state that no iteration has
        store.each_strip(0, take)
