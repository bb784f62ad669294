# SPDX-License-Identifier: BSD-3-Clause
"""Multilane collectives between sites, in a testbed and simulated, as the paper has them."""

from experiments.multilane import collectives, scatter_gather, simulated, sites, utilisation

EXPERIMENTS = (
    scatter_gather.SCATTER,
    scatter_gather.GATHER,
    simulated.EXPERIMENT,
    simulated.MANY,
    utilisation.EXPERIMENT,
    sites.EXPERIMENT,
    collectives.EXPERIMENT,
)
