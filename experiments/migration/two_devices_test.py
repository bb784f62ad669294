# SPDX-License-Identifier: BSD-3-Clause
"""What protection costs over two devices does not depend on which run comes first."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.migration import two_devices


def test_a_machine_on_which_the_second_run_is_faster_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = itertools.count()

    def exchange(*_words: object, **_options: object) -> Any:
        side = [{"sent": 1000 if next(numbers) % 2 == 0 else 2000}]
        return SimpleNamespace(caller=side, listener=side)

    monkeypatch.setattr(two_devices, "exchange", exchange)

    ratios = two_devices._ratios(None, 1)  # type: ignore[arg-type] # nothing is raised
    costs = two_devices.costs_of({"latency": ratios})

    assert costs["latency_cost_percent"] == pytest.approx(0.0)
    assert costs["latency_cost_percent_low"] == pytest.approx(-50)
    assert costs["latency_cost_percent_high"] == pytest.approx(100)
