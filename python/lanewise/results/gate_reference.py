# SPDX-License-Identifier: BSD-3-Clause
"""The reference of a gate: what a launch got from the machine, told without the MPI.

A launch is fast or slow for as long as it lasts, mostly since its ranks have these cores or those:
on a virtual machine, those that the host has moved them to.  A message that goes around the ranks
through shared memory, without the MPI, is then as fast or slow.  So a launch is compared with those
that are like it: of each time the centre is taken off that launches with a similar reference have
(a nonparametric analysis of covariance, with a kernel-weighted local pseudomedian).  How times
depend on the reference need not be known, and is not a line: a machine has a few states.

The centre is the median of the means of all pairs (J. L. Hodges and E. L. Lehmann, 1963).  If one
side is slower and the launches that are alike come from both sides, it lies half-way between the
sides, so that half of the difference is taken off one side and added to the other.  A median would
lie on either side, and make the difference twice as large or nothing.

This changes nothing in how often an alarm is false.  Nobody looks at which launch is whose when
launches are found alike, so launches of identical programs stay exchangeable.  A launch does not
count among those like it.

The slowdown of the candidate is the median of the differences between launches of the two sides, in
which a pair counts as much as its launches are alike.  Pairs are taken across blocks, which must
therefore hold equally many launches of both sides, as those of a gate do.

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
# Weights of pairs of launches that are held at a time.
PAIRS_AT_ONCE = 4_000_000


def without(logs: Matrix, references: Matrix) -> Matrix:
    """Return logarithms of times less what launches with a similar reference have.

    Both have a row for each launch; `logs` has a column for each point, `references` one for the
    logarithm of each of its sizes.
    """
    weights = likeness(references)
    centres: Matrix = np.array([local_centres(times, weights) for times in logs.T])
    left: Matrix = logs - centres.T
    return left


def slowdowns(logs: Matrix, references: Matrix, candidate: Matrix) -> Matrix:
    """Return of each point how much longer the candidate's launches take than those like them.

    The arrays are those of `without`, and `candidate` marks the rows of one side.
    """
    weights = likeness(references)
    sides = np.ix_(candidate, ~candidate)
    pairs = (weights[sides] + weights.T[sides]).reshape(1, -1)
    found = logs[candidate][:, None, :] - logs[~candidate][None, :, :]
    columns = found.reshape(-1, logs.shape[1]).T
    return np.array([local_medians(differences, pairs)[0] for differences in columns])


def likeness(references: Matrix) -> Matrix:
    """Return how much each launch counts for each other one, which is a row; not for itself.

    The weight falls with the mean distance between the logarithms of their references; the launch
    that is nearest counts 1 however far it is.
    """
    distances = abs(references[:, None, :] - references[None, :, :]).mean(axis=2)
    np.fill_diagonal(distances, np.inf)
    weights: Matrix = np.exp((distances.min(axis=1, keepdims=True) - distances) / ALIKE)
    return weights


def local_centres(times: Matrix, weights: Matrix) -> Matrix:
    """Return the pseudomedian of `times` for each row of weights: the median of means of pairs."""
    one, other = np.triu_indices(len(times))
    means = (times[one] + times[other]) / 2
    orders = np.where(one == other, 1.0, 2.0)
    parts = np.array_split(weights, -(-len(weights) * len(means) // PAIRS_AT_ONCE))
    return np.concatenate(
        [local_medians(means, part[:, one] * part[:, other] * orders) for part in parts]
    )


def local_medians(times: Matrix, weights: Matrix) -> Matrix:
    """Return the median of `times` for each row of weights."""
    order = np.argsort(times)
    sums = np.cumsum(weights[:, order], axis=1)
    places = (sums < sums[:, -1:] / 2).sum(axis=1)
    medians: Matrix = times[order][places]
    return medians
