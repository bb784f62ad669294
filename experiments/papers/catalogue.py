# SPDX-License-Identifier: BSD-3-Clause
"""Catalogue: all items of the five papers, in their order, and what is no item, and why."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.papers import interconnects, mpiblib, multilane, out_of_core, path_migration
from experiments.papers.item import Item
from experiments.registry import find_experiment

ITEMS: tuple[Item, ...] = (
    *mpiblib.ITEMS,
    *multilane.ITEMS,
    *out_of_core.ITEMS,
    *path_migration.ITEMS,
    *interconnects.ITEMS,
)

# Tables and figures that hold no result.
NO_ITEMS = (
    ("001", "Fig. 1, 2, 3", "drawings of the network and of the algorithms"),
    ("001", "Fig. 6, Table 2", "the testbed and its nodes; `testbed-accuracy` measures ours"),
    ("002", "Fig. 1, 2, 3, 5, 6, 8", "drawings of the algorithm, the notation and the layouts"),
    ("003", "Fig. 1, 2, 3, 4", "states of a queue pair and drawings of the design"),
    ("004", "Table 1", "the machines of the paper"),
)


def experiments_of(items: tuple[Item, ...] = ITEMS) -> list[Experiment]:
    """Return the experiments that items are measured by, each once, in the order of the items."""
    names = dict.fromkeys(name for item in items for name in item.experiments)
    return [find_experiment(name) for name in names]
