# SPDX-License-Identifier: BSD-3-Clause
"""A link that was never seen busy has no rate, and a failed reading of it is not silent."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.multilane.utilisation import LINK_BPS, Sampled, figures_of, watched
from lanewise.errors import RunError


def test_a_link_that_was_never_busy_has_no_rate() -> None:
    times_s = [0.1 * number for number in range(10)]
    idle = Sampled(times_s, [0] * 10)
    full = Sampled(times_s, [round(LINK_BPS / 8 * at_s) for at_s in times_s])

    figures = figures_of({("scatter", "single lane"): idle, ("scatter", "4 lanes"): full})

    assert figures == {"scatter_4_lanes_mbps": pytest.approx(1000)}


def test_counters_that_cannot_be_read_end_the_experiment() -> None:
    def ask(*_words: object) -> Any:
        raise RunError("the delay line is gone")

    lines = [SimpleNamespace(name="a-b")]
    raised: Any = SimpleNamespace(plan=lambda: SimpleNamespace(delay_lines=lines), ask=ask)

    with pytest.raises(RunError, match="the delay line is gone"), watched(raised, 0):
        time.sleep(0.1)
