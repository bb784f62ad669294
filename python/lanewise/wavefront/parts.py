# SPDX-License-Identifier: BSD-3-Clause
"""Parts: a store cut by rows for the ranks of an MPI job, and put together again.

    lanewise.wavefront.split("demo", ["part.0", "part.1"])
    whole = lanewise.wavefront.join(["part.0", "part.1"], "whole")

Between the two, `run_on_ranks` sweeps the parts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lanewise.errors import RequestError
from lanewise.wavefront import library
from lanewise.wavefront.options import whole_number
from lanewise.wavefront.progress import OnShare
from lanewise.wavefront.store import Store

_RADIUS_MAX = 1 << 40


def split(
    store: Store | str | Path,
    folders: Sequence[str | Path],
    *,
    radius: int = 0,
    on_progress: OnShare | None = None,
) -> None:
    """Cut a store by rows into new ones, one for each rank: the part in folders[r] is for rank r.

    A part holds its share of the rows and, of each neighbour, `radius` rows: the stencil radius of
    the kernel that will run on the parts; 0: of the kernel that the store was made for, or else 1.
    An unfinished run goes with them.  `on_progress(share, elapsed_s)` is called now and then,
    `share` going from 0 to 1; what it raises is raised.  Nothing is left in the folders where this
    raises: RequestError for too few rows, for coefficients by row or column and for folders that
    are not empty, RunError where a strip is damaged or a disk is full.
    """
    places = [library.path_bytes(folder) for folder in _each(folders)]
    rows = whole_number("radius", radius, _RADIUS_MAX)
    names = (ctypes.c_char_p * len(places))(*places)
    function = library.loaded().lw_wavefront_split
    with _opened([store]) as (whole,):
        whole.copy_by(
            lambda moved: int(function(whole.handle, rows, names, len(places), moved, None)),
            on_progress,
        )


def join(
    parts: Sequence[Store | str | Path],
    folder: str | Path,
    *,
    on_progress: OnShare | None = None,
) -> Store:
    """Put all parts of a store together in the new store `folder`, and return that, open.

    The parts are given in the order of their ranks, and have gone through the same iterations; an
    unfinished run comes back with them.  `on_progress` is as for `split`.  Nothing is left in
    `folder` where this raises: RequestError for parts that do not belong together and for a folder
    that is not empty, RunError where a strip is damaged or the disk is full.
    """
    function, place = library.loaded().lw_wavefront_join, library.path_bytes(folder)
    with _opened(_each(parts)) as stores:
        handles = (ctypes.c_void_p * len(stores))(*(store.handle for store in stores))
        stores[0].copy_by(
            lambda moved: int(function(handles, len(stores), place, moved, None)), on_progress
        )
    return Store.open(folder)


def _each(given: Sequence[Any]) -> list[Any]:
    """Return what is to be a list; RequestError for one name, or for nothing."""
    if isinstance(given, str | Path | Store):
        raise RequestError(f"give a list, with one entry for each rank, instead of {given!r}")
    if not (found := list(given)):
        raise RequestError("the list of parts is empty; give one entry for each rank")
    return found


@contextmanager
def _opened(stores: Sequence[Store | str | Path]) -> Iterator[list[Store]]:
    """Open those that are given as folders, for reading, and use all meanwhile."""
    with ExitStack() as opened:
        found = [
            store if isinstance(store, Store) else opened.enter_context(Store.open(store, mode="r"))
            for store in stores
        ]
        for store in found:
            opened.enter_context(store.calling())
        yield found
