# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a testbed: medians, and what its link does apart from what TCP makes of it."""

import math

import pytest

from experiments.testbed_accuracy import experiment as testbed_accuracy


def test_the_rate_of_the_link_is_told_apart_from_what_tcp_makes_of_it() -> None:
    share = testbed_accuracy.PAYLOAD_SHARE

    rates = testbed_accuracy.Rates(
        payload={1e8: 1e8 * share, 1e9: 0.8e9 * share}, link={1e8: 1e8, 1e9: 1.005e9}
    )

    figures = testbed_accuracy.figures_of([5.1] * 9, [5.2] * 5 + [9.0] * 4, rates, 6e9)

    assert figures["delay_error_idle_ms"] == pytest.approx(0.1)
    assert figures["delay_error_ms"] == pytest.approx(0.2)
    assert figures["link_rate_error_percent"] == pytest.approx(0.5)
    assert figures["rate_error_percent"] == pytest.approx(20.0)
    assert figures["throughput_gbps"] == pytest.approx(6.0)


@pytest.mark.parametrize("link", [{1e8: math.nan, 1e9: 1e9}, {1e8: 1e8, 1e9: math.nan}])
def test_a_link_that_was_not_filled_has_no_rate(link: dict[float, float]) -> None:
    rates = testbed_accuracy.Rates(payload={1e8: 1e8}, link=link)

    figures = testbed_accuracy.figures_of([5.0] * 9, [5.0] * 9, rates, 6e9)

    assert math.isnan(figures["link_rate_error_percent"])
