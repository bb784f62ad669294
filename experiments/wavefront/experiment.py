# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over matrices on disk: the paper's layouts and blocks, chained waves, and peers."""

from experiments.wavefront import (
    blocks,
    chaining,
    directions,
    limits,
    memory,
    overhead,
    peers,
    planes,
    preprocess,
)

EXPERIMENTS = (
    overhead.EXPERIMENT,
    preprocess.EXPERIMENT,
    blocks.EXPERIMENT,
    chaining.EXPERIMENT,
    limits.EXPERIMENT,
    directions.EXPERIMENT,
    memory.EXPERIMENT,
    planes.EXPERIMENT,
    peers.EXPERIMENT,
)
