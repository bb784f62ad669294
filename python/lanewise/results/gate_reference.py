# SPDX-License-Identifier: BSD-3-Clause
"""The reference of a gate: what a launch got from the machine, told without the MPI.

A launch is fast or slow for as long as it lasts, mostly since its ranks have these cores or those:
on a virtual machine, those that the host has moved them to.  A message that goes around the ranks
through shared memory, without the MPI, is then as fast or slow.  So a launch is compared with those
that are like it: of each time the median is taken off that launches with a similar reference have
(a nonparametric analysis of covariance, with a kernel-weighted local median).  How times depend on
the reference need not be known, and is not a line: a machine has a few states.

This changes nothing in how often an alarm is false.  Nobody looks at which launch is whose when
launches are found alike, so launches of identical programs stay exchangeable.  A launch does not
count among those like it, so a slowdown of one side is not taken off with the rest.

The reference must not itself depend on what is compared.  If the candidate has other cores, the
reference differs between the sides, and it is not used.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Matrix = np.ndarray[Any, np.dtype[Any]]

OPERATION = "shared_memory_ring"

# What became of the reference: the launches have none, it was used, or the sides differ in it.
State = Literal["none", "used", "differs"]

# References that differ by so much are little alike.  The median of a launch is known to 2.5 %.
ALIKE = 0.03


def without(logs: Matrix, references: Matrix) -> Matrix:
    """Return logarithms of times less what launches with a similar reference have.

    Both have a row for each launch; `logs` has a column for each point, `references` one for the
    logarithm of each of its sizes.
    """
    weights = likeness(references)
    medians: Matrix = np.array([local_medians(times, weights) for times in logs.T])
    left: Matrix = logs - medians.T
    return left


def likeness(references: Matrix) -> Matrix:
    """Return how much each launch counts for each other one, which is a row; not for itself.

    The weight falls with the mean distance between the logarithms of their references; the launch
    that is nearest counts 1 however far it is.
    """
    distances = abs(references[:, None, :] - references[None, :, :]).mean(axis=2)
    np.fill_diagonal(distances, np.inf)
    weights: Matrix = np.exp((distances.min(axis=1, keepdims=True) - distances) / ALIKE)
    return weights


def local_medians(times: Matrix, weights: Matrix) -> Matrix:
    """Return the median of `times` for each row of weights."""
    order = np.argsort(times)
    sums = np.cumsum(weights[:, order], axis=1)
    places = (sums < sums[:, -1:] / 2).sum(axis=1)
    medians: Matrix = times[order][places]
    return medians
