# SPDX-License-Identifier: BSD-3-Clause
"""Livermore loop 23 over numpy.memmap with Numba: a yardstick for wavefront-peers.

    python experiments/wavefront/memmap_sweep.py FOLDER SIDE ITERATIONS WAVES

FOLDER holds data.raw and the five coefficients; data.raw is updated in place.  With WAVES above 1,
as many iterations go over the files together, each two blocks of rows behind the one before it and
all in parallel, on as many threads as Numba is told to take.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

prange: Any
njit: Any
try:
    from numba import njit, prange
except ImportError:  # the experiment then leaves these loops out
    njit, prange = (lambda function: function), range

BLOCK_ROWS = 8
COEFFICIENTS = ("zb", "zv", "zu", "zr", "zz")


def update_rows(  # noqa: PLR0913, PLR0917
    first: int, end: int, d: Any, zb: Any, zv: Any, zu: Any, zr: Any, zz: Any
) -> None:
    """Update the rows from `first` to before `end` of `d` once, in place."""
    for i in range(first, end):
        for j in range(1, d.shape[1] - 1):
            q = (
                d[i - 1, j] * zb[i, j]
                + d[i, j - 1] * zv[i, j]
                + d[i, j + 1] * zu[i, j]
                + d[i + 1, j] * zr[i, j]
                + zz[i, j]
                - d[i, j]
            )
            d[i, j] += 0.175 * q


fast_update_rows = njit(update_rows)


def sweep(d: Any, zb: Any, zv: Any, zu: Any, zr: Any, zz: Any) -> None:  # noqa: PLR0913, PLR0917
    """Update `d` once, in place; all are of one shape."""
    fast_update_rows(1, d.shape[0] - 1, d, zb, zv, zu, zr, zz)


def chained(  # noqa: PLR0913, PLR0917
    waves: int, d: Any, zb: Any, zv: Any, zu: Any, zr: Any, zz: Any
) -> None:
    """Update `d` in place `waves` times, each time two blocks of rows behind the one before.

    Two blocks behind, no row that one of them writes is read by another in the same step.
    """
    rows = d.shape[0] - 1
    blocks = (rows - 1 + BLOCK_ROWS - 1) // BLOCK_ROWS
    for step in range(blocks + 2 * (waves - 1)):
        for wave in prange(waves):
            block = step - 2 * wave
            if 0 <= block < blocks:
                first = 1 + block * BLOCK_ROWS
                fast_update_rows(first, min(first + BLOCK_ROWS, rows), d, zb, zv, zu, zr, zz)


def compiled() -> Any:
    """Return `sweep` compiled by Numba, compilation done."""
    import numba  # noqa: PLC0415

    function = numba.njit(sweep)
    function(*_small())
    return function


def compiled_chained() -> Any:
    """Return `chained` compiled by Numba for several threads, compilation done."""
    import numba  # noqa: PLC0415

    function = numba.njit(chained, parallel=True)
    function(1, *_small())
    return function


def _small() -> list[np.ndarray[Any, Any]]:
    return [np.zeros((3, 3)) for _ in range(6)]


def main(folder: Path, side: int, iterations: int, waves: int) -> None:
    """Sweep and print the seconds it took, compilation left out."""

    def mapped(name: str, mode: Any) -> np.ndarray[Any, Any]:
        # As a plain array: Numba knows no memmap, the pages are the same.
        return np.asarray(np.memmap(folder / f"{name}.raw", "float64", mode, shape=(side, side)))

    function = compiled() if waves == 1 else compiled_chained()
    also = () if waves == 1 else (waves,)
    data = np.memmap(folder / "data.raw", "float64", "r+", shape=(side, side))
    # Numba compiles anew for read-only arrays, so the coefficients are copy-on-write.
    matrices = [np.asarray(data), *(mapped(name, "c") for name in COEFFICIENTS)]
    began_s = time.monotonic()
    for _ in range(iterations // waves):
        function(*also, *matrices)
    data.flush()
    sys.stdout.write(json.dumps({"elapsed_s": time.monotonic() - began_s}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
