# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours: a search for the nearest points, a program that knows nothing of Lanewise.

    mpirun -n 8 python neighbours.py ROUNDS

In each round the root has new points.  It scatters them, 4 MiB to each rank, and broadcasts what
is looked for; each rank finds the nearest of its points, and the root takes the nearest of all.
The points that are looked for are among those of the round, a little moved; the program ends with
status 1 if one of them is not found.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a rank is a core

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

POINTS, DIMENSIONS = 16384, 64  # of a rank: 4 MiB
WANTED = 256
MOVED = 0.01

Array = NDArray[np.float32]


def nearest(points: Array, wanted: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the squared distance of the nearest point to each wanted one, and its number."""
    squares = (points * points).sum(axis=1) - 2 * (wanted @ points.T)
    found = squares.argmin(axis=1)
    rows = np.arange(len(wanted))
    return squares[rows, found] + (wanted * wanted).sum(axis=1), found


def main(rounds: int) -> int:
    """Search; return the exit status."""
    world = MPI.COMM_WORLD
    random = np.random.default_rng(1)
    mine = np.empty((POINTS, DIMENSIONS), dtype=np.float32)
    wanted = np.empty((WANTED, DIMENSIONS), dtype=np.float32)
    everything, right = None, True
    if world.rank == 0:
        everything = random.standard_normal((world.size * POINTS, DIMENSIONS), dtype=np.float32)
    for _ in range(rounds):
        chosen = random.integers(world.size * POINTS, size=WANTED)
        if everything is not None:
            everything[:: POINTS // 4] += np.float32(1)  # they are other points in each round
            wanted[:] = everything[chosen] + np.float32(MOVED)
        world.Scatter(everything, mine)
        world.Bcast(wanted)
        distances, numbers = nearest(mine, wanted)
        found = world.gather((distances, numbers + world.rank * POINTS))
        if found is not None:
            best = np.argmin([each for each, _ in found], axis=0)
            numbers = np.array([each for _, each in found])[best, np.arange(WANTED)]
            right = right and bool((numbers == chosen).all())
    if world.rank == 0:
        print(f"{rounds * WANTED} points looked for, {'all' if right else 'not all'} found")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
