# SPDX-License-Identifier: BSD-3-Clause
"""Registry: the experiments there are, one line each, in the order of the papers."""

from __future__ import annotations

from difflib import get_close_matches

from experiments.application_scaling import experiment as application_scaling
from experiments.experiment import Experiment
from experiments.global_clock import experiment as global_clock
from experiments.hca import clients as hca_clients
from experiments.hca import fuzz as hca_fuzz
from experiments.hca import lossy as hca_lossy
from experiments.hca import speed as hca_speed
from experiments.interval_coverage import experiment as interval_coverage
from experiments.migration import cost as migration_cost
from experiments.migration import failover as migration_failover
from experiments.migration import latency as migration_latency
from experiments.migration import mpi as migration_mpi
from experiments.migration import peers as migration_peers
from experiments.migration import transitions as migration_transitions
from experiments.model_accuracy import experiment as model_accuracy
from experiments.multilane import collectives as multilane_collectives
from experiments.multilane import scatter_gather as multilane
from experiments.multilane import simulated as multilane_paper
from experiments.multilane import sites as multilane_sites
from experiments.multilane import utilisation as multilane_utilisation
from experiments.opt_scatter import experiment as opt_scatter
from experiments.parallel_pairs import experiment as parallel_pairs
from experiments.pipeline_effect import experiment as pipeline_effect
from experiments.schedule_cost import experiment as schedule_cost
from experiments.testbed_accuracy import experiment as testbed_accuracy
from experiments.timing_methods import experiment as timing_methods
from experiments.transports import cpu_availability
from experiments.transports import transports as fabrics
from experiments.tuned_overhead import experiment as tuned_overhead
from experiments.wavefront import blocks as wavefront_blocks
from experiments.wavefront import chaining as wavefront_chaining
from experiments.wavefront import limits as wavefront_limits
from experiments.wavefront import overhead as wavefront_overhead
from experiments.wavefront import peers as wavefront_peers
from experiments.wavefront import preprocess as wavefront_preprocess
from lanewise.errors import RequestError

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
