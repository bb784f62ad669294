# SPDX-License-Identifier: BSD-3-Clause
"""Matrix: one matrix of a store as programs read arrays, a few rows at a time."""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lanewise.errors import RequestError

Array = npt.NDArray[Any]


class RowSource(Protocol):
    """What a matrix is read from: a store."""

    def shape_of(self, matrix: int | str) -> tuple[int, ...]:
        """Return the shape of a matrix, or of a coefficient by row or column."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of an element."""

    @property
    def strip_rows(self) -> int:
        """Return how many rows move together between disk and memory."""

    def read_rows(self, matrix: int | str, first: int, count: int) -> Array:
        """Return `count` rows of a matrix from row `first` on."""


class Matrix:
    """One matrix of a store, which must stay open: `matrix[10:20, 5]` reads the strips it needs.

    Rows are picked by a number or a slice, columns by anything that picks those of an array.
    numpy.asarray(matrix) reads all of it.  IndexError for a row that is not there, RequestError for
    a matrix that is empty, RunError where a strip is damaged.
    """

    def __init__(self, store: RowSource, number: int) -> None:
        self.store, self.number = store, number

    @property
    def shape(self) -> tuple[int, ...]:
        """Return rows and columns, or planes, lines and columns."""
        return self.store.shape_of(self.number)

    @property
    def ndim(self) -> int:
        """Return how many dimensions there are, two or three."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of an element."""
        return self.store.dtype

    @property
    def chunks(self) -> tuple[int, ...]:
        """Return the shape of what is read together, a strip, as Zarr and HDF5 say it."""
        rows, *row = self.shape
        return min(self.store.strip_rows, rows), *row

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        indices = list(key) if isinstance(key, tuple) else [key]
        at = _which_picks_rows(indices, self.ndim)
        if at is None:
            return self._rows(slice(None))[tuple(indices)]
        picked = indices[at]
        if isinstance(picked, slice):
            indices[at] = slice(None)
            return self._rows(picked)[tuple(indices)]
        row, count = _row_number(picked), len(self)
        if not -count <= row < count:
            raise IndexError(f"row {row} is not in the matrix; it has {count}")
        # NumPy puts the axes elsewhere where a number is beside arrays, so the number stays one.
        indices[at] = 0
        return self.store.read_rows(self.number, row % count, 1)[tuple(indices)]

    def _rows(self, picked: slice) -> Array:
        wanted = range(*picked.indices(len(self)))
        if not wanted:
            return np.empty((0, *self.shape[1:]), self.dtype)
        first = min(wanted[0], wanted[-1])
        found = self.store.read_rows(self.number, first, max(wanted[0], wanted[-1]) + 1 - first)
        return found[:: wanted.step]

    # The signature is that of numpy's protocol.
    def __array__(
        self,
        dtype: npt.DTypeLike | None = None,
        copy: bool | None = None,  # noqa: FBT001
    ) -> Array:
        """Return all of the matrix in memory, which is always a copy."""
        if copy is False:
            raise ValueError("a matrix on the disk cannot be an array without being copied")
        return self._rows(slice(None)).astype(dtype or self.dtype, copy=False)

    def __repr__(self) -> str:
        sides = " x ".join(map(str, self.shape))
        return f"Matrix({self.number}, {sides} {self.dtype})"


def _which_picks_rows(indices: list[Any], dimensions: int) -> int | None:
    """Return which index is that of the first dimension; None where all of it is picked."""
    if sum(index is Ellipsis for index in indices) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    named = sum(map(_dimensions_of, indices))
    if named > dimensions:
        word = "two" if dimensions == 2 else "three"
        raise IndexError(f"{named} indices for the {word} dimensions of a matrix")
    for at, index in enumerate(indices):
        if index is Ellipsis and named < dimensions:
            return None
        if index is not None and index is not Ellipsis:
            return at
    return None


def _dimensions_of(index: Any) -> int:
    if index is None or index is Ellipsis:
        return 0
    if not isinstance(index, list | np.ndarray):
        return 1
    picked = np.asarray(index)
    return picked.ndim if picked.dtype == bool else 1


def _row_number(picked: Any) -> int:
    # True is a number in Python, but a mask in NumPy.
    if not isinstance(picked, bool):
        with contextlib.suppress(TypeError):
            return operator.index(picked)
    raise RequestError(
        f"rows are picked by a number or a slice, not by {type(picked).__name__}; "
        "read a slice that holds them and pick from that"
    )
