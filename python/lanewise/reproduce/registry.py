# SPDX-License-Identifier: BSD-3-Clause
"""Registry: the experiments there are, one line each, in the order of the papers."""

from __future__ import annotations

from difflib import get_close_matches

from lanewise.errors import RequestError
from lanewise.reproduce import (
    application_scaling,
    cpu_availability,
    fabrics,
    global_clock,
    hca_clients,
    hca_fuzz,
    hca_lossy,
    hca_speed,
    interval_coverage,
    migration_cost,
    migration_failover,
    migration_latency,
    migration_mpi,
    migration_peers,
    migration_transitions,
    model_accuracy,
    multilane,
    multilane_collectives,
    multilane_paper,
    multilane_sites,
    multilane_utilisation,
    opt_scatter,
    parallel_pairs,
    pipeline_effect,
    schedule_cost,
    testbed_accuracy,
    timing_methods,
    tuned_overhead,
    wavefront_blocks,
    wavefront_chaining,
    wavefront_limits,
    wavefront_overhead,
    wavefront_peers,
    wavefront_preprocess,
)
from lanewise.reproduce.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    pipeline_effect.EXPERIMENT,
    timing_methods.EXPERIMENT,
    parallel_pairs.EXPERIMENT,
    interval_coverage.EXPERIMENT,
    global_clock.EXPERIMENT,
    opt_scatter.EXPERIMENT,
    schedule_cost.EXPERIMENT,
    tuned_overhead.EXPERIMENT,
    model_accuracy.EXPERIMENT,
    multilane.SCATTER,
    multilane.GATHER,
    multilane_paper.EXPERIMENT,
    multilane_paper.MANY,
    multilane_utilisation.EXPERIMENT,
    multilane_sites.EXPERIMENT,
    multilane_collectives.EXPERIMENT,
    testbed_accuracy.EXPERIMENT,
    hca_clients.EXPERIMENT,
    hca_speed.LATENCY,
    hca_speed.BANDWIDTH,
    hca_speed.MESSAGE_RATE,
    hca_lossy.EXPERIMENT,
    hca_fuzz.EXPERIMENT,
    wavefront_overhead.EXPERIMENT,
    wavefront_preprocess.EXPERIMENT,
    wavefront_blocks.EXPERIMENT,
    wavefront_chaining.EXPERIMENT,
    wavefront_limits.EXPERIMENT,
    wavefront_peers.EXPERIMENT,
    fabrics.EXPERIMENT,
    cpu_availability.EXPERIMENT,
    application_scaling.EXPERIMENT,
    migration_transitions.EXPERIMENT,
    migration_latency.EXPERIMENT,
    migration_failover.EXPERIMENT,
    migration_cost.EXPERIMENT,
    migration_mpi.EXPERIMENT,
    migration_peers.EXPERIMENT,
)


def find_experiment(name: str) -> Experiment:
    """Return the experiment called `name`; raises RequestError, with a suggestion, for no such."""
    names = [experiment.name for experiment in EXPERIMENTS]
    if name in names:
        return EXPERIMENTS[names.index(name)]
    close = get_close_matches(name, names, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
    raise RequestError(f"no experiment {name!r}; {remedy}")
