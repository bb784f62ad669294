# SPDX-License-Identifier: BSD-3-Clause
"""Rankings, where the truth is known."""

import numpy as np

from lanewise.suite.pool import Pooled
from lanewise.suite.rank import ranking


def pooled(centre_s: float, seed: int, rounds: int = 3, drift: float = 0.0) -> Pooled:
    """Return a point of a transport whose launches differ by `drift` among themselves."""
    source = np.random.default_rng(seed)
    point = Pooled()
    for _ in range(rounds):
        centre = centre_s * float(source.lognormal(0, drift))
        samples = [float(v) for v in centre * source.lognormal(0, 0.05, 40)]
        point.samples_s += samples
        point.round_medians_s.append(float(np.median(samples)))
    return point


def test_a_slower_transport_has_a_later_place() -> None:
    ranked = ranking({"slow": pooled(2e-6, 1), "fast": pooled(1e-6, 2)})

    assert [(one.transport, one.place) for one in ranked] == [("fast", 1), ("slow", 2)]
    assert ranked[1].slower_low < 2 < ranked[1].slower_high


def test_transports_that_are_alike_share_a_place() -> None:
    ranked = ranking({"a": pooled(1e-6, 3), "b": pooled(1e-6, 4), "c": pooled(3e-6, 5)})

    assert [one.place for one in ranked] == [1, 1, 3]


def test_launches_that_disagree_make_no_difference() -> None:
    found = 0
    for seed in range(10):
        points = {"a": pooled(1e-6, seed, drift=0.2), "b": pooled(1e-6, 100 + seed, drift=0.2)}
        found += ranking(points)[1].place == 2

    assert found <= 2
