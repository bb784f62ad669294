# SPDX-License-Identifier: BSD-3-Clause
"""Ranks: sweeps over the parts of a store, one part on each rank of an MPI job.

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    lanewise.wavefront.run_on_ranks(comm, f"part.{comm.rank}", kernel, iterations=500)

`split` makes the parts beforehand, and `join` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError, RunError
from lanewise.launch.mpi4py_library import handle_of, refuse_single_thread
from lanewise.wavefront import library
from lanewise.wavefront.kernel import OwnKernel
from lanewise.wavefront.options import Borders, Ending, Rates, run_options
from lanewise.wavefront.progress import OnShare
from lanewise.wavefront.run import (
    Callbacks,
    Outcome,
    called,
    kernel_arguments,
    resumed_arguments,
)
from lanewise.wavefront.store import Store

# What a native call takes: the function, what says which kernel, and the options.
Arguments = tuple[Any, tuple[Any, ...], library.RunOptions]


def run_on_ranks(  # noqa: PLR0913
    comm: Any,
    part: Store | str | Path,
    kernel: str | OwnKernel | Any,
    iterations: int,
    *,
    memory: str | float = "1GiB",
    parameters: Sequence[float] = (),
    threads: int = 0,
    waves: int = 0,
    tolerance: float | None = None,
    borders: Borders = "fixed",
    check_finite: bool = False,
    on_progress: OnShare | None = None,
    rates: Rates = Rates(),  # noqa: B008
) -> Outcome:
    """Iterate with `kernel` over all parts of a store; all ranks of `comm` call this together.

    `comm` is an intracommunicator of mpi4py.  `part` is the part of the calling rank, a `Store` or
    its folder: rank r, from 0, has part r of those that `split` made for as many ranks and for the
    radius of the kernel.  The rest is as for `run`, and the same on all ranks except for `memory`,
    `threads` and `on_progress`; `borders` are those of the whole store, without periodic rows.
    Another thread exchanges the rows of neighbours meanwhile, so the MPI must serve
    THREAD_SERIALIZED, as mpi4py asks for by default, and `on_progress` calls no MPI.
    Returns what was done on the own part.

    What cannot be run is refused on all ranks: by RequestError, or by RunError where another rank
    cannot take part.  A rank that fails later, by what its kernel or `on_progress` raised among
    other things, leaves the others waiting for its rows.  Start the program as `python -m mpi4py
    program.py`, so that an exception on one rank ends the job; `resume_on_ranks` goes on with it.
    """

    def prepare(store: Store) -> Arguments:
        options = run_options(
            iterations, memory=memory, threads=threads, waves=waves, ending=Ending(tolerance),
            borders=borders, check_finite=int(check_finite), rates=rates,
        )  # fmt: skip
        native = library.loaded_for_ranks()
        is_built_in = isinstance(kernel, str)
        function = (
            native.lw_wavefront_run_on_ranks
            if is_built_in
            else native.lw_wavefront_run_kernel_on_ranks
        )
        return function, kernel_arguments(kernel, parameters, store), options

    return _called_together(comm, part, kernel, prepare, on_progress)


def resume_on_ranks(  # noqa: PLR0913
    comm: Any,
    part: Store | str | Path,
    kernel: OwnKernel | Any | None = None,
    *,
    memory: str | float = "1GiB",
    threads: int = 0,
    waves: int = 0,
    check_finite: bool = False,
    on_progress: OnShare | None = None,
    rates: Rates = Rates(),  # noqa: B008
) -> Outcome:
    """Go on with a run on ranks that was interrupted; with a kernel of your own, name that again.

    The arguments are as for `run_on_ranks`.  Raises RequestError where there is no such run, or
    where its start did not reach all ranks; start a new run then.
    """

    def prepare(store: Store) -> Arguments:
        options = run_options(
            1,
            memory=memory,
            threads=threads,
            waves=waves,
            check_finite=int(check_finite),
            rates=rates,
        )
        native = library.loaded_for_ranks()
        function = (
            native.lw_wavefront_resume_on_ranks
            if kernel is None
            else native.lw_wavefront_resume_kernel_on_ranks
        )
        return function, resumed_arguments(kernel, store), options

    return _called_together(comm, part, kernel, prepare, on_progress)


def _called_together(
    comm: Any,
    part: Store | str | Path,
    kernel: Any,
    prepare: Callable[[Store], Arguments],
    on_progress: OnShare | None,
) -> Outcome:
    with _prepared(comm, part, prepare) as (store, (function, arguments, options)):
        on_comm = partial(function, handle_of(comm))
        return called(store, kernel, on_comm, arguments, options, Callbacks(on_progress))


@contextmanager
def _prepared(
    comm: Any, part: Store | str | Path, prepare: Callable[[Store], Arguments]
) -> Iterator[tuple[Store, Arguments]]:
    """Open the part and prepare its call, on all ranks or on none."""
    if comm.Is_inter():
        raise RequestError("comm is an intercommunicator; merge its groups with comm.Merge()")
    with ExitStack() as opened:
        try:
            refuse_single_thread()
            store = part if isinstance(part, Store) else opened.enter_context(Store.open(part))
            arguments = prepare(store)
            opened.enter_context(store.running())
        except Exception as error:  # of whatever kind: the others wait
            comm.allgather(f"rank {comm.rank} cannot take part: {error}")
            raise
        failures = [failure for failure in comm.allgather("") if failure]
        if failures:
            raise RunError(failures[0])
        yield store, arguments
