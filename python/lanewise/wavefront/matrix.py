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
        picked, *columns = (key if isinstance(key, tuple) else (key,)) or (...,)
        if len(columns) >= self.ndim:
            word = "two" if self.ndim == 2 else "three"
            raise IndexError(f"{1 + len(columns)} indices for the {word} dimensions of a matrix")
        rows = self._rows(slice(None) if picked is Ellipsis else picked)
        if not columns:
            return rows
        inner = tuple(columns)
        return rows[inner] if rows.ndim < self.ndim else rows[(slice(None), *inner)]

    def _rows(self, picked: Any) -> Array:
        count = len(self)
        if isinstance(picked, slice):
            wanted = range(*picked.indices(count))
            if not wanted:
                return np.empty((0, *self.shape[1:]), self.dtype)
            first = min(wanted[0], wanted[-1])
            found = self.store.read_rows(self.number, first, max(wanted[0], wanted[-1]) + 1 - first)
            return found[:: wanted.step]
        row = _row_number(picked)
        if not -count <= row < count:
            raise IndexError(f"row {row} is not in the matrix; it has {count}")
        row_values: Array = self.store.read_rows(self.number, row % count, 1)[0]
        return row_values

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


def _row_number(picked: Any) -> int:
    # True is a number in Python, but a mask in NumPy.
    if not isinstance(picked, bool):
        with contextlib.suppress(TypeError):
            return operator.index(picked)
    raise RequestError(
        f"rows are picked by a number or a slice, not by {type(picked).__name__}; "
        "read a slice that holds them and pick from that"
    )
