# SPDX-License-Identifier: BSD-3-Clause
"""Connections that move to another path: what moving takes, and what survives a pulled cable."""

from experiments.migration import cost, failover, latency, mpi, peers, transitions, two_devices

EXPERIMENTS = (
    transitions.EXPERIMENT,
    latency.EXPERIMENT,
    failover.EXPERIMENT,
    cost.EXPERIMENT,
    mpi.EXPERIMENT,
    peers.EXPERIMENT,
    two_devices.EXPERIMENT,
)
