# SPDX-License-Identifier: BSD-3-Clause
"""Training: a data-parallel training of a small network, a program that knows nothing of Lanewise.

    mpirun -n 8 python training.py STEPS

Each rank computes the gradients of its own samples, and an allreduce of 25 MiB adds them up, as
frameworks for deep learning do.  A network with one hidden layer learns which of ten patterns a
noisy picture shows.  The program ends with status 1 if the loss does not fall, or if the ranks do
not end with the same weights.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a rank is a core

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

FEATURES, HIDDEN, CLASSES = 1014, 6400, 10
SAMPLES = 16
RATE = 0.05

Array = NDArray[np.float32]
Numbers = NDArray[np.int64]


def samples(random: np.random.Generator, patterns: Array) -> tuple[Array, Numbers]:
    """Return noisy pictures, one a row, and the pattern that each shows."""
    shown = random.integers(CLASSES, size=SAMPLES)
    noise = random.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
    return patterns[shown] + noise, shown


def step(first: Array, second: Array, gradients: Array, batch: Array, shown: Numbers) -> float:
    """Write the gradients of both layers behind each other; return the loss of the batch."""
    hidden = np.maximum(batch @ first, 0)
    scores = hidden @ second
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.arange(SAMPLES)
    loss = -float(np.log(chances[rows, shown] + 1e-9).mean())
    chances[rows, shown] -= 1
    chances /= SAMPLES
    back = (chances @ second.T) * (hidden > 0)
    np.matmul(batch.T, back, out=gradients[: first.size].reshape(first.shape))
    np.matmul(hidden.T, chances, out=gradients[first.size :].reshape(second.shape))
    return loss


def main(steps: int) -> int:
    """Train; return the exit status."""
    world = MPI.COMM_WORLD
    same = np.random.default_rng(1)
    patterns = same.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    weights = same.standard_normal(HIDDEN * (FEATURES + CLASSES), dtype=np.float32)
    weights *= np.float32(0.02)
    first = weights[: FEATURES * HIDDEN].reshape(FEATURES, HIDDEN)
    second = weights[FEATURES * HIDDEN :].reshape(HIDDEN, CLASSES)
    gradients = np.empty_like(weights)
    own = np.random.default_rng(100 + world.rank)
    losses = []
    for _ in range(steps):
        loss = step(first, second, gradients, *samples(own, patterns))
        world.Allreduce(MPI.IN_PLACE, gradients)
        gradients *= np.float32(RATE / world.size)
        weights -= gradients
        losses.append(world.allreduce(loss) / world.size)
    sums = world.allgather(float(weights.sum(dtype=np.float64)))
    if world.rank == 0:
        print(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} after {steps} steps")
    return 0 if losses[-1] < losses[0] and len(set(sums)) == 1 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
