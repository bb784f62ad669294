# SPDX-License-Identifier: BSD-3-Clause
"""The share of injected delays that is attributed, from known delays."""

import pytest

from experiments.who_was_late.experiment import attributed


def test_what_is_found_is_counted_up_to_what_was_injected() -> None:
    injected = {("f", 0): 3.0, ("g", 1): 1.0}

    assert attributed(injected, {("f", 0): 2.0, ("g", 1): 5.0}) == pytest.approx((0.75, 1.0))


def test_a_delay_that_is_found_at_another_rank_is_not_attributed() -> None:
    assert attributed({("f", 0): 2.0}, {("f", 1): 2.0}) == pytest.approx((0.0, 1.0))
