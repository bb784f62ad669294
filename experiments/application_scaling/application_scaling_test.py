# SPDX-License-Identifier: BSD-3-Clause
"""A transport on which LAMMPS fails is no efficient one."""

from experiments.application_scaling.experiment import EXPERIMENT, figures_of, whole_of
from lanewise.suite.scale import Curve

WHOLE = Curve("shm", {1: [1.0] * 6, 2: [1.25] * 6})
FAILED_LATER = Curve("tcp", {1: [1.0]}, "it had not ended after 60 s and was stopped")
FAILED_AT_ONCE = Curve("ucx", why="it ended with status 1")


def test_a_transport_on_which_a_run_fails_has_no_efficiency() -> None:
    points = whole_of([FAILED_LATER, WHOLE, FAILED_AT_ONCE], "scaled")

    assert list(points) == ["shm"]
    assert figures_of(points)["shm_efficiency_2_ranks"] == 0.8


def test_a_run_in_which_a_transport_fails_misses_its_target() -> None:
    assert EXPERIMENT.targets["failed"].met_by(0.0)
    assert not EXPERIMENT.targets["failed"].met_by(1.0)
