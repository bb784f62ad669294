# SPDX-License-Identifier: BSD-3-Clause
"""Multilane collectives between sites, in a testbed and simulated, as the paper has them."""

from experiments.multilane import (
    collectives,
    scatter_gather,
    simulated,
    sites,
    utilisation,
    winner_map,
)

EXPERIMENTS = (
    scatter_gather.SCATTER,
    scatter_gather.GATHER,
    simulated.EXPERIMENT,
    simulated.MANY,
    utilisation.EXPERIMENT,
    sites.EXPERIMENT,
    collectives.EXPERIMENT,
    winner_map.EXPERIMENT,
    winner_map.TESTBED,
)
