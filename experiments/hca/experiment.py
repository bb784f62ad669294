# SPDX-License-Identifier: BSD-3-Clause
"""The software RDMA device: who runs on it, how fast it is, and what it survives."""

from experiments.hca import clients, connections, fuzz, lossy, pyverbs, replay, speed, sweep, ucx

EXPERIMENTS = (
    clients.EXPERIMENT,
    connections.EXPERIMENT,
    pyverbs.EXPERIMENT,
    speed.LATENCY,
    speed.BANDWIDTH,
    speed.MESSAGE_RATE,
    ucx.EXPERIMENT,
    lossy.EXPERIMENT,
    fuzz.EXPERIMENT,
    replay.EXPERIMENT,
    sweep.EXPERIMENT,
)
