# SPDX-License-Identifier: BSD-3-Clause
"""Run: iterate over a store, or over arrays in memory."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.wavefront.kernel import RowKernel
from lanewise.wavefront.library import (
    Kernel,
    OnProgress,
    Progress,
    RunOptions,
    RunOutcome,
    byref,
    library,
)
from lanewise.wavefront.store import Store

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
    tolerance: float = 0.0,
    check_finite: bool = False,
    on_progress: Callable[[float, float], None] | None = None,
) -> Outcome:
    """Iterate with `kernel`: a built-in name, a `RowKernel`, or a Numba cfunc of radius 1.

    `store` is a `Store`, its folder, or a list of 2-D arrays of one shape and dtype: the first is
    updated in place, the others are coefficients.  `on_progress(share, elapsed_s)` is called now
    and then.  Raises RequestError for what cannot be done, RunError for what failed; a store then
    holds the data of its last whole pass.
    """
    options = RunOptions(
        struct_size=ctypes.sizeof(RunOptions), threads=threads, iterations=iterations,
        memory_bytes=size_bytes(memory), waves=waves, tolerance=tolerance,
        check_finite=int(check_finite), progress=_progress(on_progress),
    )  # fmt: skip
    if isinstance(store, Store):
        return _run(store, kernel, parameters, options)
    if isinstance(store, (str, Path)):
        with Store.open(store) as opened:
            return _run(opened, kernel, parameters, options)
    return _run_arrays(list(store), kernel, parameters, options)


def resume(  # noqa: PLR0913
    store: Store | str | Path,
    kernel: RowKernel | Any | None = None,
    *,
    memory: str | int = "1GiB",
    threads: int = 0,
    waves: int = 0,
    check_finite: bool = False,
    on_progress: Callable[[float, float], None] | None = None,
) -> Outcome:
    """Go on with a run that was interrupted; one with a kernel of your own needs that kernel."""
    options = RunOptions(
        struct_size=ctypes.sizeof(RunOptions), threads=threads, iterations=1,
        memory_bytes=size_bytes(memory), waves=waves, check_finite=int(check_finite),
        progress=_progress(on_progress),
    )  # fmt: skip
    if isinstance(store, Store):
        return _resume(store, kernel, options)
    with Store.open(store) as opened:
        return _resume(opened, kernel, options)


def _resume(store: Store, kernel: Any, options: RunOptions) -> Outcome:
    outcome = RunOutcome()
    if kernel is None:
        status = library().lw_wavefront_resume(store.handle, byref(options), byref(outcome))
    else:
        status = library().lw_wavefront_resume_kernel(
            store.handle, byref(_native(kernel)), byref(options), byref(outcome)
        )
    return _outcome(store, status, outcome)


def _native(kernel: Any) -> Kernel:
    row = kernel if isinstance(kernel, RowKernel) else RowKernel(kernel)
    return Kernel(
        struct_size=ctypes.sizeof(Kernel), radius=row.radius,
        reads=int(row.reads == "previous"), watch_writes=int(row.watch_writes),
        update=row.address, name=row.name.encode(),
    )  # fmt: skip


def _outcome(store: Store, status: int, outcome: RunOutcome) -> Outcome:
    store.failures.check(status)
    values_by_name = {name: getattr(outcome, name) for name, _type in RunOutcome._fields_}
    return Outcome(**{**values_by_name, "converged": bool(outcome.converged)})


def _progress(on_progress: Callable[[float, float], None] | None) -> Any:
    if on_progress is None:
        return OnProgress()

    def shown(_context: object, progress: Any) -> None:
        now: Progress = progress.contents
        passed = now.waves * now.strips_done / now.strip_count
        on_progress((now.iterations_done + passed) / now.iterations_wanted, now.elapsed_s)

    return OnProgress(shown)


def _run(store: Store, kernel: Any, parameters: Sequence[float], options: RunOptions) -> Outcome:
    outcome = RunOutcome()
    if isinstance(kernel, str):
        values = (ctypes.c_double * len(parameters))(*parameters)
        status = library().lw_wavefront_run(
            store.handle, kernel.encode(), values, len(parameters), byref(options), byref(outcome)
        )
    else:
        status = library().lw_wavefront_run_kernel(
            store.handle, byref(_native(kernel)), byref(options), byref(outcome)
        )
    return _outcome(store, status, outcome)


def _run_arrays(
    arrays: list[Any], kernel: Any, parameters: Sequence[float], options: RunOptions
) -> Outcome:
    if not arrays or any(getattr(array, "ndim", 0) != 2 for array in arrays):
        raise RequestError("give a store, its folder, or a list of two-dimensional arrays")
    data = arrays[0]
    with tempfile.TemporaryDirectory(prefix="lanewise-wavefront-") as folder:
        rows, columns = data.shape
        with Store.create(
            Path(folder) / "store", rows, columns, coefficients=len(arrays) - 1, dtype=data.dtype
        ) as store:
            for matrix, array in enumerate(arrays):
                store.write(matrix, array)
            outcome = _run(store, kernel, parameters, options)
            data[:] = store.read(0)
    return outcome
