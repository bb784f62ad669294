# SPDX-License-Identifier: BSD-3-Clause
"""Bands: rows of an array that are best read together, and what is kept of them between strips.

The chunks of Zarr and HDF5, and the blocks of dask, come whole or not at all: a chunk that two
strips of a store need would be read twice, and a block computed twice.  A band is the rows of a row
of chunks; the last one read is kept.  Bands that are too large are cut.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from lanewise.errors import RunError
from lanewise.wavefront.conversion import converted

Array = npt.NDArray[Any]

# What a band has at most.
BAND_BYTES = 256 << 20
# The pages of a mapped file in Fortran order have many rows of few columns.
_FORTRAN_BYTES = 32 << 20


class Bands:
    """The rows of an array, read by bands and handed out by strips, in order."""

    def __init__(self, values: Any, dtype: np.dtype[Any]) -> None:
        self._values, self._dtype = values, dtype
        self._count = int(values.shape[0])
        self._most = max(1, BAND_BYTES // _row_bytes(values))
        self._ends = _ends(_chunk_rows(values), self._count, self._most)
        self._first = 0
        self._kept: Any = None

    def copy(self, first: int, rows: Array) -> None:
        """Copy the rows from `first` on; later calls ask for later ones."""
        done = 0
        while done < len(rows):
            done += self._copy_some(first + done, rows[done:])

    def _copy_some(self, row: int, rows: Array) -> int:
        kept = 0 if self._kept is None else self._first + len(self._kept)
        if row >= kept:
            self._kept = None  # before the next ones are there
            within = self._whole_until(row, row + len(rows))
            if within > row:
                rows[: within - row] = self._read(row, within)
                return within - row
            self._first, self._kept = row, self._read(row, self._end(row))
        found = self._kept[row - self._first :][: len(rows)]
        rows[: len(found)] = found
        return len(found)

    def _read(self, first: int, end: int) -> Array:
        found = self._values[first:end]
        # NumPy would make an array of it that has no mask.
        if hasattr(found, "__dask_graph__"):
            found = found.compute()
        if np.ma.is_masked(found):
            raise RunError(
                f"rows {first} to {end - 1} have masked values; put numbers in their place first"
            )
        rows = converted(np.asarray(found), self._dtype, first)
        wanted = (end - first, *self._values.shape[1:])
        if rows.shape != wanted:
            raise RunError(f"rows {first} to {end - 1} came as {rows.shape}, and not as {wanted}")
        return rows

    def _end(self, row: int) -> int:
        at = bisect_right(self._ends, row)
        return min(self._ends[at] if at < len(self._ends) else self._count, row + self._most)

    def _whole_until(self, row: int, end: int) -> int:
        """Return where the last band ends that ends within these rows; `row` where none does."""
        at = bisect_right(self._ends, end)
        last: int = end if end == self._count else self._ends[at - 1] if at else row
        return max(row, last)


def _ends(chunk_rows: int | Sequence[int], count: int, most: int) -> Sequence[int]:
    if isinstance(chunk_rows, int):
        step = max(1, min(chunk_rows, most))
        return range(step, count + 1, step)
    return list(accumulate(chunk_rows))


def _row_bytes(values: Any) -> int:
    itemsize: int = np.dtype(values.dtype).itemsize
    return max(1, math.prod(map(int, values.shape[1:])) * itemsize)


def _chunk_rows(values: Any) -> int | Sequence[int]:
    """Return the rows of each chunk, as one number or, where they differ, as many."""
    chunks = getattr(values, "chunks", None) or _file_chunks(values)
    if chunks:
        rows = chunks[0]
        return tuple(map(int, rows)) if isinstance(rows, Sequence) else int(rows)
    if isinstance(values, np.memmap) and np.isfortran(values):
        return max(1, _FORTRAN_BYTES // _row_bytes(values))
    return 1


def _file_chunks(values: Any) -> Sequence[int] | None:
    # An array of xarray that is still in its file says there how it is chunked.
    encoding = getattr(values, "encoding", None)
    if not isinstance(encoding, dict):
        return None
    chunks = encoding.get("chunksizes") or encoding.get("chunks")
    return chunks if isinstance(chunks, Sequence) and len(chunks) == len(values.shape) else None
