# SPDX-License-Identifier: BSD-3-Clause
"""The best local alignment of two sequences with affine gaps, by tables on the disk.

$ python examples/affine_alignment.py GGTTGACTA TGTTACGG
score 10
GTTGAC
GTT-AC

Smith and Waterman (1981) with the three tables of Gotoh (1982): the best alignment that ends at a
pair of letters, and those that end in a gap of either sequence.  The tables need not fit into
memory: of the sequences there is one letter for each row and one for each column, and the way back
from the best pair reads a few rows at a time.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from lanewise import wavefront

# No sum of scores comes near it, so that an alignment does not begin with a gap.
NEVER = -(2**30)
PAIRS, ACROSS_GAPS, DOWN_GAPS = 0, 1, 2
GAP = "-"


@dataclass(frozen=True)
class Scoring:
    """Scores of equal and unequal letters; what the first and a further letter of a gap cost."""

    match: int = 3
    mismatch: int = -3
    first: int = 5
    further: int = 1

    def of_pair(self, one: str, other: str) -> int:
        """Return the score of two letters."""
        return self.match if one == other else self.mismatch


@dataclass(frozen=True)
class Alignment:
    """The best score, and the two parts that are aligned, with gaps."""

    score: int
    down: str
    across: str


@numba.cfunc(wavefront.row_signature("int32"))
def gotoh(  # noqa: PLR0913, PLR0917
    updated: Any, data: Any, coefficients: Any, _row: int, first: int, end: int, context: Any
) -> None:
    """Update a row of the three tables."""
    pairs, across_gaps, down_gaps = updated[0], updated[1], updated[2]
    pairs_above, down_gaps_above = data[0], data[6]
    letter, letters = coefficients[0][0], coefficients[1]
    scores = numba.carray(context, 4, np.int32)  # type: ignore[attr-defined]
    match, mismatch, cost, further = scores[0], scores[1], scores[2], scores[3]
    for j in range(first, end):
        across_gaps[j] = max(across_gaps[j - 1] - further, pairs[j - 1] - cost)
        down_gaps[j] = max(down_gaps_above[j] - further, pairs_above[j] - cost)
        pair = pairs_above[j - 1] + (match if letter == letters[j] else mismatch)
        pairs[j] = max(0, pair, across_gaps[j], down_gaps[j])


def align(
    folder: Path, down: str, across: str, scoring: Scoring | None = None, memory: str = "256MiB"
) -> Alignment:
    """Return the best local alignment of two sequences; its tables stay in the store `folder`."""
    scoring = scoring or Scoring()
    shape = (len(down) + 2, len(across) + 2)
    with wavefront.Store.create(
        folder, shape, data=3, row_coefficients=1, column_coefficients=1, dtype="int32"
    ) as store:
        for table, value in ((PAIRS, 0), (ACROSS_GAPS, NEVER), (DOWN_GAPS, NEVER)):
            store.write(table, np.broadcast_to(np.int32(value), shape))
        store.write("row0", letters_of(down).reshape(-1, 1))
        store.write("column0", letters_of(across).reshape(1, -1))
        scores = (scoring.match, scoring.mismatch, scoring.first, scoring.further)
        kernel = wavefront.RowKernel(gotoh, context=np.array(scores, np.int32))
        wavefront.run(store, kernel, 1, memory=memory)
        return trace(store, down, across, scoring)


def letters_of(text: str) -> npt.NDArray[np.int32]:
    """Return the letters of a text as numbers, within a border of zeros."""
    return np.pad(np.frombuffer(text.encode(), np.uint8).astype(np.int32), 1)


def trace(store: wavefront.Store, down: str, across: str, scoring: Scoring) -> Alignment:
    """Go back from the best pair to where its alignment begins."""
    i, j = best_cell(store)
    tables = Tables(store)
    score = int(tables.at(PAIRS, i, j))
    one, other = [], []
    table = PAIRS
    while table != PAIRS or tables.at(PAIRS, i, j) > 0:
        here = tables.at(table, i, j)
        if table == PAIRS:
            pair = scoring.of_pair(down[i - 1], across[j - 1])
            if here == tables.at(PAIRS, i - 1, j - 1) + pair:
                one.append(down[i - 1])
                other.append(across[j - 1])
                i, j = i - 1, j - 1
            else:
                table = ACROSS_GAPS if here == tables.at(ACROSS_GAPS, i, j) else DOWN_GAPS
            continue
        along = table == ACROSS_GAPS
        one.append(GAP if along else down[i - 1])
        other.append(across[j - 1] if along else GAP)
        i, j = (i, j - 1) if along else (i - 1, j)
        if here == tables.at(PAIRS, i, j) - scoring.first:
            table = PAIRS
    return Alignment(score, "".join(reversed(one)), "".join(reversed(other)))


def best_cell(store: wavefront.Store) -> tuple[int, int]:
    """Return row and column of the first of the best pairs."""
    best, place = -1, (0, 0)

    def take(first: int, rows: npt.NDArray[np.int32]) -> None:
        nonlocal best, place
        row, column = divmod(int(np.argmax(rows)), rows.shape[1])
        if rows[row, column] > best:
            best, place = int(rows[row, column]), (first + row, column)

    store.each_strip(PAIRS, take)
    return place


class Tables:
    """The tables of a store, of which some rows are in memory, for a way that leads upwards."""

    def __init__(self, store: wavefront.Store) -> None:
        self._store = store
        self._count = int(store.native_shape.strip_rows)
        self._first = store.shape[0]
        self._rows: list[Any] = []

    def at(self, table: int, row: int, column: int) -> int:
        """Return an element of a table, in a row above those before or one below the highest."""
        if row < self._first:
            # The row below is still asked for.
            end = min(row + 2, self._store.shape[0])
            self._first = max(0, end - self._count - 1)
            count = end - self._first
            self._rows = [self._store.read_rows(t, self._first, count) for t in range(3)]
        return int(self._rows[table][row - self._first, column])


def main() -> None:
    """Align the two sequences of the command line."""
    if len(sys.argv) != 3:
        sys.stderr.write("use: affine_alignment.py SEQUENCE SEQUENCE\n")
        sys.exit(2)
    with tempfile.TemporaryDirectory() as folder:
        found = align(Path(folder) / "tables", sys.argv[1], sys.argv[2])
    sys.stdout.write(f"score {found.score}\n{found.down}\n{found.across}\n")


if __name__ == "__main__":
    main()
