# SPDX-License-Identifier: BSD-3-Clause
"""A guideline is broken where both series say so."""

import math
from dataclasses import asdict
from typing import Any

import pytest

from lanewise.tuning.guidelines import judge
from lanewise.tuning.specimen import figures


def record(right_s: float, confirmed_s: float | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "guideline": "bcast <= scatter + allgather", "kind": "mock-up", "collective": "bcast",
        "message_bytes": 64, "left": asdict(figures(10e-6)), "right": asdict(figures(right_s)),
    }  # fmt: skip
    if confirmed_s is not None:
        values["confirmation"] = {
            "root": 3, "left": asdict(figures(10e-6)), "right": asdict(figures(confirmed_s)),
        }  # fmt: skip
    return values


def test_a_guideline_is_broken_where_both_series_say_so() -> None:
    assert judge(record(5e-6, 5e-6), 0.03).broken


@pytest.mark.parametrize(
    ("race_s", "confirmed_s"), [(5e-6, None), (5e-6, 10e-6), (10e-6, 5e-6), (9.7e-6, 9.7e-6)]
)
def test_a_guideline_holds_where_one_series_does_not(
    race_s: float, confirmed_s: float | None
) -> None:
    assert not judge(record(race_s, confirmed_s), 0.03).broken


def test_the_factor_is_of_the_confirmation() -> None:
    assert judge(record(2e-6, 5e-6), 0.03).factor == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("left_s", "right_s", "factor"), [(0.0, 0.0, 1.0), (1e-6, 0.0, math.inf), (0.0, 1e-6, 0.0)]
)
def test_calls_that_take_no_time_have_a_factor(
    left_s: float, right_s: float, factor: float
) -> None:
    values = {"left": asdict(figures(left_s)), "right": asdict(figures(right_s))}

    assert judge({**record(1e-6, None), **values}, 0.03).factor == factor
